#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

/// States of an encoder that the cross attention of a decoder looks at: sequence b of the decoder
/// sees sequence b of these (with a cache: that which the cache names).
struct Memory {
  at::Tensor states;  // (M, D)
  kernels::Layout layout;
};

}  // namespace weft::nn
