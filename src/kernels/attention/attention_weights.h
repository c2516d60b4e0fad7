#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"
#include "kernels/layout.h"

namespace weft::kernels {

/// Attention weights of `attention` with the same arguments, without dropout: for each sequence (H,
/// L, L) in fp32; rows are queries and sum to 1. A plain implementation for inspection; it
/// materialises the memory that the fused kernel saves.
std::vector<at::Tensor> attention_weights(const at::Tensor& qkv,
                                          const Layout& layout,
                                          const AttentionSettings& settings);

}  // namespace weft::kernels
