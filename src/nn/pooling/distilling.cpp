#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/embedding.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/block.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/pooling/pooling.h"
#include "nn/pooling/token_pooling.h"
#include "nn/sublayer.h"

namespace weft::nn {

namespace {

enum class DistillingNorm { kModel, kInstance };

struct DistillingOptions {
  DistillingNorm norm = DistillingNorm::kModel;
  bool is_circular = false;  // the token before the first one is the last one
};

constexpr int64_t kTaps = 3;  // tokens of the convolution, and of a window of the maximum

int64_t distilled_length(int64_t length) { return (length + 1) / 2; }

/// Mean 0 and variance 1 for each feature over the tokens of a sequence (arXiv:1607.08022), then
/// scale and shift: what batch norm computes for a batch of one sequence.
class InstanceNorm : public torch::nn::Module {
 public:
  explicit InstanceNorm(int64_t dim) {
    weight_ = register_parameter("weight", at::ones({dim}));
    bias_ = register_parameter("bias", at::zeros({dim}));
  }

  at::Tensor forward(const at::Tensor& x, const kernels::Layout& layout) {
    constexpr double kEpsilon = 1e-5;  // as in batch norm
    std::vector<int64_t> sequence_of;
    std::vector<float> shares;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      sequence_of.insert(sequence_of.end(), static_cast<std::size_t>(layout.length(b)), b);
      shares.push_back(1 / static_cast<float>(std::max<int64_t>(1, layout.length(b))));
    }
    const auto index = kernels::to_device(sequence_of, x.device());
    const auto share = kernels::to_device(shares, x.device()).unsqueeze(1);
    const auto mean = [&](const at::Tensor& rows) {  // of the sequence of each row, (N, D)
      return kernels::gather_rows(segment_sum(rows, layout) * share, index);
    };
    const auto rows = x.to(at::kFloat);
    const auto centred = rows - mean(rows);
    const auto unit = centred * (mean(centred.square()) + kEpsilon).rsqrt();
    const auto count = unit.size(0);
    return (unit * kernels::repeat_row(weight_.to(at::kFloat), count) +
            kernels::repeat_row(bias_.to(at::kFloat), count))
        .to(x.scalar_type());
  }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

class Distilling : public Sublayer {
 public:
  Distilling(const BlockOptions& options, const DistillingOptions& own) : own_(own) {
    const auto dim = options.dim();
    convolution_ = register_module("convolution", Linear(LinearOptions{kTaps * dim, dim}));
    if (own.norm == DistillingNorm::kInstance) {
      instance_norm_ = register_module("norm", std::make_shared<InstanceNorm>(dim));
    } else {
      norm_ = register_module("norm", make_norm(options.norm));
    }
  }

  bool mixes_tokens() const override { return true; }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto mixed =
        convolution_->forward(neighbours(x, context.layout).flatten(1), context);  // (N, D)
    const auto normed =
        instance_norm_ ? instance_norm_->forward(mixed, context.layout) : norm_->forward(mixed);
    return maxima(at::elu(normed), context.layout);
  }

  ForwardContext context_after(const ForwardContext& context) const override {
    return halved_context(context, window_rows(context.layout, 0), distilled_length);
  }

 private:
  /// Each token with the one before and the one after it, (N, D) -> (N, 3, D).
  at::Tensor neighbours(const at::Tensor& x, const kernels::Layout& layout) const {
    const auto zero = x.size(0);  // a row after all others
    std::vector<int64_t> index;
    index.reserve(static_cast<std::size_t>(kTaps * layout.tokens()));
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto begin = layout.offsets[static_cast<std::size_t>(b)];
      const auto length = layout.length(b);
      const auto row = [&](int64_t i) {
        const bool is_inside = i >= 0 && i < length;
        return is_inside || own_.is_circular ? begin + (i + length) % length : zero;
      };
      for (int64_t i = 0; i < length; ++i) {
        index.insert(index.end(), {row(i - 1), row(i), row(i + 1)});
      }
    }
    const auto with_zeros = at::constant_pad_nd(x, {0, 0, 0, 1});
    return kernels::gather_rows(with_zeros, kernels::to_device(index, x.device()))
        .view({x.size(0), kTaps, x.size(1)});
  }

  /// The row `shift` after every second row of a sequence, or the nearest that it has.
  static std::vector<int64_t> window_rows(const kernels::Layout& layout, int64_t shift) {
    std::vector<int64_t> rows;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto begin = layout.offsets[static_cast<std::size_t>(b)];
      const auto last = layout.length(b) - 1;
      for (int64_t i = 0; i <= last; i += 2) {
        rows.push_back(begin + std::clamp<int64_t>(i + shift, 0, last));
      }
    }
    return rows;
  }

  static at::Tensor maxima(const at::Tensor& x, const kernels::Layout& layout) {
    const auto rows = [&](int64_t shift) {
      return kernels::gather_rows(x, kernels::to_device(window_rows(layout, shift), x.device()));
    };
    return at::maximum(at::maximum(rows(-1), rows(0)), rows(1));
  }

  DistillingOptions own_;
  Linear convolution_{nullptr};
  std::shared_ptr<Norm> norm_;  // one of the two
  std::shared_ptr<InstanceNorm> instance_norm_;
};

}  // namespace

SublayerDefinition::Maker read_distilling(config::Section& section) {
  DistillingOptions own;
  section.read_choice(
      "norm", own.norm,
      {{"model", DistillingNorm::kModel}, {"instance", DistillingNorm::kInstance}},
      {.help = "Norm after the convolution, in place of batch norm, with which texts would not be "
               "independent of each other. model: as in the layers. instance: each feature over "
               "the tokens of its text, which is batch norm for a single text."});
  section.read_choice(
      "padding_mode", own.is_circular, {{"zeros", false}, {"circular", true}},
      {.help = "What the convolution reads beyond the ends of a text: zeros, or its "
               "other end, as in the authors' code."});
  return [own](const BlockOptions& options) { return std::make_shared<Distilling>(options, own); };
}

}  // namespace weft::nn
