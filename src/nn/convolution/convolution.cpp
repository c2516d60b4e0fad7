#include <cmath>
#include <memory>
#include <string>

#include <ATen/ATen.h>

#include "kernels/activation.h"
#include "kernels/sum.h"
#include "nn/block.h"
#include "nn/convolution/time_convolution.h"
#include "nn/initial_values.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/sublayer.h"

namespace weft::nn {

namespace {

/// A gated projection, a depthwise convolution over time, a norm, SiLU and a projection. The
/// convolution stops at the borders of a sequence; in causal models it ends with the token itself.
class ConvolutionModule : public Sublayer, public InitialValues {
 public:
  ConvolutionModule(const BlockOptions& options, int64_t taps)
      : layer_(options.layer), taps_(taps), is_causal_(options.attention.is_causal) {
    const auto dim = options.dim();
    input_ = register_module("input", Linear(LinearOptions{dim, 2 * dim, false}));
    kernel_ = register_parameter("kernel", at::empty({dim, taps}));
    norm_ = register_module("norm", make_norm(options.norm));
    output_ = register_module("output", Linear(LinearOptions{dim, dim, false}));
  }

  bool mixes_tokens() const override { return true; }

  /// A kernel starts with the variance 1 / taps, so that its output is as large as its input.
  void initialize(const std::string& /*name*/, at::Tensor parameter) const override {
    const auto sum = kernels::deterministic_sum(parameter.square()).item<double>();
    parameter.div_(std::sqrt(sum / static_cast<double>(parameter.size(0))));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto gated = at::glu(input_->forward(x, context), 1);
    const auto front = is_causal_ ? taps_ - 1 : taps_ / 2;
    const SpacedRows rows(context.layout, front, taps_ - 1 - front, x.device());
    const auto spread = rows.spread(gated, earlier_rows(gated, taps_ - 1, layer_, context));
    const auto mixed = depthwise_convolution(spread, kernel_).index_select(0, rows.token_windows());
    return output_->forward(kernels::activate(norm_->forward(mixed), kernels::Activation::kSilu),
                            context);
  }

 private:
  int64_t layer_;
  int64_t taps_;
  bool is_causal_;
  Linear input_{nullptr};
  at::Tensor kernel_;  // (D, taps)
  std::shared_ptr<Norm> norm_;
  Linear output_{nullptr};
};

}  // namespace

SublayerDefinition::Maker read_convolution(config::Section& section) {
  int64_t taps = 31;
  read_kernel_size(section, taps);
  return [taps](const BlockOptions& options) {
    return std::make_shared<ConvolutionModule>(options, taps);
  };
}

}  // namespace weft::nn
