#include "nn/mlp.h"

#include "kernels/activation.h"
#include "kernels/dropout.h"

namespace weft::nn {

MlpImpl::MlpImpl(const MlpOptions& options) {
  first_ = register_module("first", Linear(LinearOptions{options.inputs, options.width}));
  second_ = register_module("second", Linear(LinearOptions{options.width, options.width}));
}

at::Tensor MlpImpl::forward(const at::Tensor& x,
                            double dropout,
                            const kernels::RngKey& outer,
                            const kernels::RngKey& inner) {
  constexpr auto kRelu = kernels::Activation::kRelu;
  const auto hidden =
      kernels::activate(first_->forward(kernels::dropout(x, dropout, outer)), kRelu);
  return kernels::activate(second_->forward(kernels::dropout(hidden, dropout, inner)), kRelu);
}

}  // namespace weft::nn
