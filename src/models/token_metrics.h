#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::models {

/// For each row: -log softmax(logits)[target], the argmax of the logits, and its probability.
struct TokenMetrics {
  std::vector<double> losses;
  std::vector<int64_t> predictions;
  std::vector<double> scores;

  void append(const TokenMetrics& more);
};

/// logits (M, C), targets (M).
TokenMetrics token_metrics(const at::Tensor& logits, const std::vector<int64_t>& targets);

}  // namespace weft::models
