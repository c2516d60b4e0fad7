#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/sum.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"
#include "nn/convolution/time_convolution.h"

namespace weft::nn {

namespace {

enum class Convolution { kLight, kDynamic };

struct LiteOptions {
  double attention_share = 0.5;
  int64_t kernel = 15;
  int64_t kernel_heads = 4;
  Convolution convolution = Convolution::kLight;
};

/// A convolution over time whose kernel is normalised by a softmax and shared by the features of a
/// kernel head: light (learned), or dynamic (predicted from each token; arXiv:1901.10430). It stops
/// at the borders of a text. Causal: it ends with the token itself.
class TimeConvolution : public torch::nn::Module {
 public:
  TimeConvolution(int64_t width, const LiteOptions& own, const AttentionOptions& options)
      : own_(own), layer_(options.layer), is_causal_(options.is_causal) {
    input_ = register_module("input", Linear(LinearOptions{width, 2 * width, options.has_bias}));
    output_ = register_module("output", Linear(LinearOptions{width, width, options.has_bias}));
    if (own.convolution == Convolution::kLight) {
      kernel_ = register_parameter("kernel", at::empty({own.kernel_heads, own.kernel}));
    } else {
      predictor_ = register_module(
          "kernel", Linear(LinearOptions{width, own.kernel_heads * own.kernel, false}));
    }
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) {
    const auto gated = at::glu(input_->forward(x, context), 1);  // (N, D2)
    const auto mixed = own_.convolution == Convolution::kLight
                           ? convolve(gated, kernel_.softmax(1).to(gated.scalar_type()), context)
                           : convolve(gated, kernels_of(gated, context), context);
    return output_->forward(mixed, context);
  }

 private:
  /// (N, heads, taps)
  at::Tensor kernels_of(const at::Tensor& x, const ForwardContext& context) {
    return predictor_->forward(x, context)
        .view({-1, own_.kernel_heads, own_.kernel})
        .to(kernels::accumulate_type(x))
        .softmax(2)
        .to(x.scalar_type());
  }

  /// kernel (heads, taps), or (N, heads, taps) for each token.
  at::Tensor convolve(const at::Tensor& x,
                      const at::Tensor& kernel,
                      const ForwardContext& context) {
    const auto taps = own_.kernel;
    const auto front = is_causal_ ? taps - 1 : taps / 2;
    const SpacedRows rows(context.layout, front, taps - 1 - front, x.device());
    const auto padded = rows.spread(x, earlier_rows(x, taps - 1, layer_, context));
    if (kernel.dim() == 2) {
      const auto by_feature = kernel.repeat_interleave(x.size(1) / own_.kernel_heads, 0);
      return depthwise_convolution(padded, by_feature).index_select(0, rows.token_windows());
    }
    const auto by_head = padded.unflatten(1, {own_.kernel_heads, -1});  // (rows, heads, D')
    at::Tensor sum;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const auto term =
          by_head.index_select(0, rows.token_windows() + tap) * kernel.select(2, tap).unsqueeze(2);
      sum = sum.defined() ? sum + term : term;
    }
    return sum.flatten(1);
  }

  LiteOptions own_;
  int64_t layer_;
  bool is_causal_;
  Linear input_{nullptr};
  Linear output_{nullptr};
  Linear predictor_{nullptr};
  at::Tensor kernel_;  // (heads, taps)
};

/// Attention over one part of the features and a convolution over the other
/// (arXiv:2004.11886).
class LiteTransformerAttention : public Attention {
 public:
  LiteTransformerAttention(const AttentionOptions& options, const LiteOptions& own, int64_t split)
      : split_(split), wants_distances_(options.distance_scores.has_value()) {
    if (split > 0) {
      auto of_part = options;
      of_part.dim = split;
      of_part.head_dim = split / options.heads;
      of_part.distance_scores.reset();  // the table is as wide as the model
      attention_ = register_module("attention", make_full_attention(of_part));
    }
    if (split < options.dim) {
      convolution_ = register_module(
          "convolution", std::make_shared<TimeConvolution>(options.dim - split, own, options));
    }
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    if (attention_ == nullptr) {
      return convolution_->forward(x, context);
    }
    if (convolution_ == nullptr) {
      return attention_->forward(x, context);
    }
    return at::cat({attention_->forward(x.slice(1, 0, split_).contiguous(), context),
                    convolution_->forward(x.slice(1, split_).contiguous(), context)},
                   1);
  }

  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    TORCH_CHECK(attention_ != nullptr, "a convolution has no attention weights to show");
    return attention_->weights(x.slice(1, 0, split_).contiguous(), context);
  }
  bool adds_positions() const override {
    return !wants_distances_ && attention_ != nullptr && attention_->adds_positions();
  }

 private:
  int64_t split_;
  bool wants_distances_;
  std::shared_ptr<Attention> attention_;
  std::shared_ptr<TimeConvolution> convolution_;
};

}  // namespace

AttentionMaker read_lite_transformer_attention(config::Section& section) {
  LiteOptions own;
  section.read(
      "attention_share", own.attention_share,
      {.help = "Share of the features that attention mixes; a convolution mixes the others.",
       .range = config::between(0, 1)});
  section.read_choice(
      "convolution", own.convolution,
      {{"light", Convolution::kLight}, {"dynamic", Convolution::kDynamic}},
      {.help = "light: a learned kernel. dynamic: each token predicts its kernel."});
  read_kernel_size(section, own.kernel);
  section.read(
      "kernel_heads", own.kernel_heads,
      {.help = "Kernels, each for a part of the features.", .range = config::between(1, 1 << 16)});
  return [own, section](const AttentionOptions& options) {
    const auto split = static_cast<int64_t>(own.attention_share * static_cast<double>(options.dim));
    if (split % (2 * options.heads) != 0) {
      section.fail("attention_share",
                   str_cat("gives ", split, " of ", options.dim, " features to attention, which ",
                           options.heads, " heads of even width cannot share"));
    }
    if ((options.dim - split) % own.kernel_heads != 0) {
      section.fail("kernel_heads", str_cat("found ", own.kernel_heads, ", must divide the ",
                                           options.dim - split, " features of the convolution"));
    }
    return std::make_shared<LiteTransformerAttention>(options, own, split);
  };
}

}  // namespace weft::nn
