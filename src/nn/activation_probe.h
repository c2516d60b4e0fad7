#pragma once

#include <cstddef>
#include <string>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// Sees what goes from layer to layer in the forward passes of the thread that made it, from its
/// beginning to its end. Of two, the older one sees it first.
class ActivationProbe {
 public:
  ActivationProbe();
  ActivationProbe(const ActivationProbe&) = delete;
  ActivationProbe& operator=(const ActivationProbe&) = delete;
  virtual ~ActivationProbe();

  /// `part`: `embeddings` or `layers.3`. Returns what goes on in place of x: as a rule
  /// x itself.
  virtual at::Tensor see(const std::string& part, const at::Tensor& x) = 0;

  /// Shows x to the thread's probes; costs next to nothing where there is none.
  static at::Tensor shown(const char* part, const at::Tensor& x);
  static at::Tensor shown(std::size_t layer, const at::Tensor& x);

 private:
  at::Tensor show(const std::string& part, const at::Tensor& x);

  ActivationProbe* older_;
};

}  // namespace weft::nn
