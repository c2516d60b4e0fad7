#pragma once

#include <algorithm>
#include <string>

#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>

#include "base/random.h"

namespace weft::nn {

/// For modules with parameters that do not start like the others of a model: matrices from a normal
/// distribution, vectors at zero.
class InitialValues {
 public:
  virtual ~InitialValues() = default;

  /// Sets the parameter of this name in this module (not below it), which has the value that it
  /// would have otherwise.
  virtual void initialize(const std::string& name, at::Tensor parameter) const = 0;
};

/// Standard normal values in fp64 from the stream.
inline at::Tensor normal_tensor(at::IntArrayRef sizes, Random& random) {
  auto result = at::empty(sizes, at::kDouble);
  auto* const values = result.data_ptr<double>();
  std::generate(values, values + result.numel(), [&] { return random.normal(); });
  return result;
}

}  // namespace weft::nn
