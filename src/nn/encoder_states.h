#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

/// Encoder states for a decoder's cross attention: sequence b of the decoder attends to sequence b
/// of these (with a KV cache, to the one the cache names).
struct EncoderStates {
  at::Tensor states;  // (M, D)
  kernels::Layout layout;
};

}  // namespace weft::nn
