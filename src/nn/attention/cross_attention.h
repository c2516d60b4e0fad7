#pragma once

#include "kernels/attention/attention.h"
#include "nn/attention/attention.h"
#include "nn/linear.h"

namespace weft::nn {

/// Each decoder token attends to all states of its encoder (arXiv:1706.03762, section 3.2.3).
class CrossAttention : public torch::nn::Module {
 public:
  explicit CrossAttention(const AttentionOptions& options);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context);  // (N, D) -> (N, D)

 private:
  at::Tensor attend(const at::Tensor& query, const ForwardContext& context);

  AttentionOptions options_;
  std::shared_ptr<Linear> query_;
  std::shared_ptr<Linear> key_value_;  // weight (2 G K, D): rows of key, then value
  std::shared_ptr<Linear> output_;
};

}  // namespace weft::nn
