#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Rows of a packed batch that are one text.
struct TextRows {
  int64_t begin = 0;
  int64_t size = 0;
};

/// The two texts of a sequence.
struct TextPair {
  TextRows first;
  TextRows second;
};

/// Each token's weighted mean of the other text's values, weights by the products of their
/// features (arXiv:1606.01933, equation 2). features (N, H), values (N, D) -> (N, D), zero for rows
/// of no text and where the other text is empty.
at::Tensor align_pairs(const at::Tensor& features,
                       const at::Tensor& values,
                       const std::vector<TextPair>& pairs);

/// Each token's weighted mean of its own text's values; `bias` (2 R + 1) is added to the products
/// by how far to the left or right the other token stands, R and further alike (section 3.4).
at::Tensor align_texts(const at::Tensor& features,
                       const at::Tensor& values,
                       const at::Tensor& bias,
                       const std::vector<TextPair>& pairs);

}  // namespace weft::nn
