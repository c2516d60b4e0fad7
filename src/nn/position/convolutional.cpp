#include <algorithm>
#include <memory>
#include <optional>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/activation.h"
#include "kernels/sum.h"
#include "nn/convolution/time_convolution.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

struct ConvolutionalOptions {
  bool is_depthwise = false;
  int64_t kernel = 128;  // k
  int64_t groups = 16;   // G
};

class PositionConvolution : public EmbeddingTransform {
 public:
  PositionConvolution(const ConvolutionalOptions& own, int64_t dim) : own_(own) {
    weight_ = register_parameter("weight", own.is_depthwise
                                               ? at::empty({dim, own.kernel})
                                               : at::empty({dim, dim / own.groups, own.kernel}));
    bias_ = register_parameter("bias", at::empty({dim}));
  }

  at::Tensor forward(const at::Tensor& x, const kernels::Layout& layout) override {
    // Taps farther from the middle than any token see only zeros.
    const int64_t middle = own_.kernel / 2;
    const int64_t reach = std::max<int64_t>(0, layout.max_length - 1);
    const int64_t first = std::max<int64_t>(0, middle - reach);
    const int64_t last = std::min(own_.kernel - 1, middle + reach);
    const int64_t taps = last - first + 1;
    const SpacedRows rows(layout, middle - first, last - middle, x.device());
    if (rows.windows() == 0) {
      return x;
    }
    const auto spread = rows.spread(x);
    const auto convolved =
        (own_.is_depthwise ? depthwise_convolution(spread, weight_.narrow(1, first, taps))
                           : grouped_convolution(spread, weight_.narrow(2, first, taps)))
            .index_select(0, rows.token_windows());  // (N, D)
    const auto biased =
        convolved + kernels::repeat_row(bias_.to(x.scalar_type()), convolved.size(0));
    return x + (own_.is_depthwise ? biased : kernels::activate(biased, kernels::Activation::kGelu));
  }

 private:
  ConvolutionalOptions own_;
  at::Tensor weight_;  // (D, D / G, k), as in torch::nn::Conv1d; depthwise: (D, k)
  at::Tensor bias_;    // (D)
};

}  // namespace

PositionMaker read_convolutional_position(config::Section& section) {
  ConvolutionalOptions own;
  section.read_choice(
      "form", own.is_depthwise, {{"grouped", false}, {"depthwise", true}},
      {.help = "grouped: a convolution within groups of features, and a GELU. depthwise: a kernel "
               "for each feature."});
  std::optional<int64_t> kernel;
  section.read("kernel_size", kernel,
               {.help = "Kernel size of the convolution. null: 128 if grouped, 3 if depthwise.",
                .unit = "tokens",
                .range = config::between(1, 1024)});
  section.read("groups", own.groups,
               {.help = "Groups of features; must divide their number.",
                .range = config::between(1, 65536),
                .only_if = "form: grouped"});
  own.kernel = kernel.value_or(own.is_depthwise ? 3 : 128);
  return [own, section](const PositionOptions& options) {
    if (options.is_causal) {
      section.fail("type",
                   "found 'convolutional' in a causal model: a convolution sees later tokens");
    }
    if (!own.is_depthwise && options.dim % own.groups != 0) {
      section.fail("groups", str_cat("found ", own.groups, ", must divide the ", options.dim,
                                     " features of the embeddings"));
    }
    return std::make_shared<Position>(
        Position{.transform = std::make_shared<PositionConvolution>(own, options.dim)});
  };
}

}  // namespace weft::nn
