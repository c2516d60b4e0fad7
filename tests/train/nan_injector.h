#pragma once

#include <limits>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "nn/activation_hook.h"

namespace weft::test {

/// Puts NaN into the activations of a module, or into their gradient, while it is
/// switched on, at most the given number of times.
class NanInjector : public nn::ActivationHook {
 public:
  enum class Into { kActivation, kGradient };

  explicit NanInjector(std::string part, Into into = Into::kActivation, int times = 1 << 30)
      : part_(std::move(part)), into_(into), times_(times) {}

  at::Tensor on_activation(const std::string& part, const at::Tensor& x) override {
    if (!is_on || part != part_ || times_ == 0) {
      return x;
    }
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (into_ == Into::kGradient) {
      if (x.requires_grad()) {
        --times_;
        x.register_hook([](const at::Tensor& gradient) { return gradient * kNan; });
      }
      return x;
    }
    --times_;
    return x * kNan;
  }

  bool is_on = false;

 private:
  std::string part_;
  Into into_;
  int times_;
};

}  // namespace weft::test
