#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/model.h"

namespace weft::batching {

/// For each row: -log softmax(logits)[target], the argmax of the logits, and its probability.
struct TokenMetrics {
  std::vector<double> losses;
  std::vector<int64_t> predictions;
  std::vector<double> scores;

  void append(const TokenMetrics& more);
};

/// logits (M, C), targets (M).
TokenMetrics token_metrics(const at::Tensor& logits, const std::vector<int64_t>& targets);

/// Metrics of the model's predictions for hidden states (M, D), in chunks to bound the memory.
TokenMetrics lm_token_metrics(models::Model& model,
                              const at::Tensor& rows,
                              const std::vector<int64_t>& targets);

/// A zero connected to the graph of x: the loss of a batch without targets.
at::Tensor zero_loss(const at::Tensor& x);

}  // namespace weft::batching
