#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"
#include "kernels/layout.h"

namespace weft::kernels {

/// The weights with which `attention` of the same arguments mixes the values, without dropout:
/// for each sequence (H, L, L) in fp32, rows are queries and add up to 1. Written plainly, for
/// looking at; its memory is what the fused kernel saves.
std::vector<at::Tensor> attention_weights(const at::Tensor& qkv,
                                          const Layout& layout,
                                          const AttentionSettings& settings);

}  // namespace weft::kernels
