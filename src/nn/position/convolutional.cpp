#include "nn/position/convolutional.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/activation.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

struct ConvolutionalOptions {
  bool is_depthwise = false;
  int64_t kernel = 128;  // k
  int64_t groups = 16;   // G
};

class PositionConvolution : public EmbeddingTransform {
 public:
  PositionConvolution(const ConvolutionalOptions& own, int64_t dim) : own_(own), dim_(dim) {
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
    const int64_t front = middle - first;
    std::vector<int64_t> rows;  // of each token, that of its first tap
    int64_t begin = 0;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      for (int64_t i = 0; i < layout.length(b); ++i) {
        rows.push_back(begin + i);
      }
      begin += layout.length(b) + taps - 1;
    }
    if (rows.empty()) {
      return x;
    }
    const auto index = kernels::to_device(rows, x.device());
    const auto padded = at::zeros({begin, dim_}, x.options()).index_copy(0, index + front, x);
    const int64_t count = begin - taps + 1;
    at::Tensor sum;
    for (int64_t tap = first; tap <= last; ++tap) {
      const auto term = product(padded.narrow(0, tap - first, count), tap);
      sum = sum.defined() ? sum + term : term;
    }
    const auto convolved = (own_.is_depthwise ? sum : sum.transpose(0, 1).flatten(1))
                               .index_select(0, index);  // (N, D)
    const auto biased =
        convolved + kernels::repeat_row(bias_.to(x.scalar_type()), convolved.size(0));
    return x + (own_.is_depthwise ? biased : kernels::activate(biased, kernels::Activation::kGelu));
  }

 private:
  /// Rows (M, D) times the weights of a tap: (M, D), or (G, M, D / G) if grouped.
  at::Tensor product(const at::Tensor& rows, int64_t tap) const {
    if (own_.is_depthwise) {
      const auto weights = weight_.select(1, tap).to(rows.scalar_type());
      return rows * kernels::repeat_row(weights, rows.size(0));
    }
    const auto by_group = rows.view({rows.size(0), own_.groups, -1}).transpose(0, 1);
    const auto weights = weight_.select(2, tap)
                             .view({own_.groups, dim_ / own_.groups, -1})
                             .transpose(1, 2)
                             .to(rows.scalar_type());
    return kernels::batched_product(by_group, weights);
  }

  ConvolutionalOptions own_;
  int64_t dim_;
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
