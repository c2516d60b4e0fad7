#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

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

}  // namespace weft::nn
