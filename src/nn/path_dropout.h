#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "nn/pass.h"

namespace weft::nn {

/// Stochastic depth (arXiv:1603.09382): what a sub-layer adds is left out for whole sequences by
/// chance, and is 1 / (1 - rate) times as large for the others. Rows are tokens, (N, D), or
/// sequences, (B, D), which draw alike. A rate of 0, or no training, returns the branch itself.
at::Tensor path_dropout(const at::Tensor& branch, double rate, uint32_t site, const Pass& pass);

}  // namespace weft::nn
