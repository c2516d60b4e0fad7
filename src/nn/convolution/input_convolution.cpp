#include "nn/convolution/input_convolution.h"

#include <ATen/ATen.h>

#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "kernels/sum.h"
#include "nn/convolution/time_convolution.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

InputConvolution::InputConvolution(const InputConvolutionOptions& own,
                                   const NormOptions& norm,
                                   double dropout)
    : activation_(own.activation), dropout_(dropout) {
  TORCH_CHECK(own.kernel % 2 == 1, "a convolution of ", own.kernel, " tokens has no middle");
  TORCH_CHECK(norm.dim % own.groups == 0, own.groups, " groups do not divide ", norm.dim,
              " features");
  weight_ = register_parameter("weight", at::empty({norm.dim, norm.dim / own.groups, own.kernel}));
  bias_ = register_parameter("bias", at::empty({norm.dim}));
  norm_ = register_module("norm", make_norm(norm));
}

at::Tensor InputConvolution::forward(const at::Tensor& input,
                                     const at::Tensor& states,
                                     const ForwardContext& context,
                                     const RowSelection* selection) const {
  const auto side = weight_.size(2) / 2;
  const SpacedRows rows(context.layout, side, side, input.device());
  if (rows.windows() == 0) {
    return states;
  }
  const auto convolved =
      grouped_convolution(rows.spread(input), weight_).index_select(0, rows.token_windows());
  const auto biased =
      convolved + kernels::repeat_row(bias_.to(convolved.scalar_type()), convolved.size(0));
  const auto dropped = kernels::dropout(biased, context.rate(dropout_),
                                        context.rng_key(site_id(DropoutSite::kInputConvolution)));
  const auto branch =
      kernels::activate(selection != nullptr ? selection->select(dropped) : dropped, activation_);
  return norm_->forward(states + branch);
}

}  // namespace weft::nn
