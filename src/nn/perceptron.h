#pragma once

#include <cstdint>

#include "kernels/chance.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace weft::nn {

struct PerceptronOptions {
  int64_t inputs = 0;
  int64_t width = 0;  // of both layers
};

/// Two rectified linear layers, each behind a dropout.
class Perceptron : public Module {
 public:
  explicit Perceptron(const PerceptronOptions& options);

  /// (rows, inputs) -> (rows, width)
  at::Tensor forward(const at::Tensor& x,
                     double dropout,
                     const kernels::Chance& outer,
                     const kernels::Chance& inner);

 private:
  std::shared_ptr<Linear> first_;
  std::shared_ptr<Linear> second_;
};

}  // namespace weft::nn
