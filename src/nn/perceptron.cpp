#include "nn/perceptron.h"

#include "kernels/activation.h"
#include "kernels/dropout.h"

namespace weft::nn {

Perceptron::Perceptron(const PerceptronOptions& options) {
  first_ = make_part<Linear>("first", LinearOptions{options.inputs, options.width});
  second_ = make_part<Linear>("second", LinearOptions{options.width, options.width});
}

at::Tensor Perceptron::forward(const at::Tensor& x,
                               double dropout,
                               const kernels::Chance& outer,
                               const kernels::Chance& inner) {
  constexpr auto kRelu = kernels::Activation::kRelu;
  const auto hidden =
      kernels::activate(first_->forward(kernels::dropout(x, dropout, outer)), kRelu);
  return kernels::activate(second_->forward(kernels::dropout(hidden, dropout, inner)), kRelu);
}

}  // namespace weft::nn
