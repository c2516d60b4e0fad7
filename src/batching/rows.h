#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/model.h"

namespace weft::batching {

/// For each row: -log softmax(logits)[target], the column of the largest logit, and its
/// probability.
struct RowFigures {
  std::vector<double> losses;
  std::vector<int64_t> best;
  std::vector<double> scores;

  void append(const RowFigures& more);
};

/// logits (M, C), targets (M).
RowFigures row_figures(const at::Tensor& logits, const std::vector<int64_t>& targets);

/// Of the model's guesses for rows of hidden states (M, D), in chunks that bound the memory.
RowFigures guess_figures(models::Model& model,
                         const at::Tensor& rows,
                         const std::vector<int64_t>& targets);

/// A zero that hangs on the graph of x: the loss of a batch without targets.
at::Tensor no_loss(const at::Tensor& x);

}  // namespace weft::batching
