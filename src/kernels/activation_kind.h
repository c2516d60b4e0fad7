#pragma once

namespace weft::kernels {

enum class Activation {
  kGelu,      // x * Phi(x), using erf (arXiv:1606.08415)
  kGeluTanh,  // tanh approximation of GELU, `gelu_new`
  kRelu,
  kSilu,
  kTanh,
};

}  // namespace weft::kernels
