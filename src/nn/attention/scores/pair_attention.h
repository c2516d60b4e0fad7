#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Rows of a packed batch that form one text.
struct TextSpan {
  int64_t begin = 0;
  int64_t size = 0;
};

/// The two texts of a sequence.
struct TextPair {
  TextSpan first;
  TextSpan second;
};

/// For each token, the weighted mean of the other text's values, with weights from the dot products
/// of their features (arXiv:1606.01933, equation 2). features (N, H), values (N, D) -> (N, D), zero
/// for rows outside the texts and where the other text is empty.
at::Tensor align_pairs(const at::Tensor& features,
                       const at::Tensor& values,
                       const std::vector<TextPair>& pairs);

/// For each token, the weighted mean of its own text's values; `bias` (2 R + 1) is added to the dot
/// products by signed distance, clamped to R (section 3.4).
at::Tensor align_texts(const at::Tensor& features,
                       const at::Tensor& values,
                       const at::Tensor& bias,
                       const std::vector<TextPair>& pairs);

}  // namespace weft::nn
