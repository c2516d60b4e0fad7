#pragma once

#include <cstdint>

#include <torch/nn/module.h>

#include "kernels/layout.h"
#include "nn/linear.h"

/// Vectors of whole sequences.
namespace weft::nn {

/// Sums the rows of each sequence in fp32, in their order. x (N, D) -> (B, D) fp32; zeros for a
/// sequence without rows.
at::Tensor segment_sum(const at::Tensor& x, const kernels::Layout& layout);
/// The largest value of each feature of a sequence in fp32. x (N, D) -> (B, D) fp32.
at::Tensor segment_max(const at::Tensor& x, const kernels::Layout& layout);

/// How the tokens of a sequence, including special tokens, become one vector.
enum class SentencePooling {
  kClsToken,
  kMax,
  kMean,
  kMeanSqrtLength,  // sum / sqrt(length)
  kWeightedMean,    // the token at position i, from 1, has weight i
  kLastToken,
};

/// (N, D) -> (B, D). A sequence's vector does not depend on the rest of the batch.
at::Tensor pool(const at::Tensor& hidden, const kernels::Layout& layout, SentencePooling pooling);

/// The first token of each sequence. (N, D) -> (B, D)
at::Tensor first_tokens(const at::Tensor& hidden, const kernels::Layout& layout);

/// tanh(W h + b) of the first token (arXiv:1810.04805).
class PoolerImpl : public torch::nn::Module {
 public:
  explicit PoolerImpl(int64_t dim);

  at::Tensor forward(const at::Tensor& first_tokens);  // (B, D) -> (B, D)

 private:
  Linear dense_{nullptr};
};
TORCH_MODULE(Pooler);

}  // namespace weft::nn
