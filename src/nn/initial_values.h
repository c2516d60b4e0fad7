#pragma once

#include <string>

#include <ATen/core/Tensor.h>

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

}  // namespace weft::nn
