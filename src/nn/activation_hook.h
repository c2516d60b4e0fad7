#pragma once

#include <cstddef>
#include <string>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Receives the activations between layers in the forward passes of the thread that created it, for
/// as long as it exists. Of several hooks, the oldest runs first.
class ActivationHook {
 public:
  ActivationHook();
  ActivationHook(const ActivationHook&) = delete;
  ActivationHook& operator=(const ActivationHook&) = delete;
  virtual ~ActivationHook();

  /// `module_name`: `embeddings` or `layers.3`. Returns the value to use instead of x, normally x
  /// itself.
  virtual at::Tensor on_activation(const std::string& module_name, const at::Tensor& x) = 0;

  /// Runs the thread's hooks on x; almost free if there are none.
  static at::Tensor run_hooks(const char* module_name, const at::Tensor& x);
  static at::Tensor run_hooks(std::size_t layer, const at::Tensor& x);

 private:
  at::Tensor run_chain(const std::string& module_name, const at::Tensor& x);

  ActivationHook* previous_;
};

}  // namespace weft::nn
