#include "nn/feed_forward/feed_forward.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/dropout.h"
#include "nn/dropout_sites.h"
#include "nn/feed_forward/mixture_of_experts.h"
#include "nn/linear.h"
#include "nn/recompute.h"

namespace weft::nn {

namespace {

/// activation(x W_1 + b_1) W_2 + b_2 (arXiv:1706.03762, equation 2), or gated
/// (activation(x W) * x V) W_2 (arXiv:2002.05202, equation 6).
class StandardFeedForward : public FeedForward {
 public:
  explicit StandardFeedForward(const FeedForwardOptions& options) : options_(options) {
    const int64_t inner = (options.is_gated ? 2 : 1) * options.width;
    up_ = register_module("up", Linear(LinearOptions{options.dim, inner, options.has_bias}));
    down_ = register_module("down",
                            Linear(LinearOptions{options.width, options.dim, options.has_bias}));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    return options_.chunk > 0 && x.size(0) > options_.chunk ? in_chunks(x, context)
                                                            : all_at_once(x, context);
  }

 private:
  /// Each chunk is computed again in the backward pass: only then do its activations not add up.
  at::Tensor in_chunks(const at::Tensor& x, const ForwardContext& context) {
    std::vector<at::Tensor> chunks;
    for (int64_t begin = 0; begin < x.size(0); begin += options_.chunk) {
      auto own = context;
      own.first_row += begin;
      const auto rows = x.slice(0, begin, begin + options_.chunk);
      const auto work = [this, own](const at::Tensor& in) { return all_at_once(in, own); };
      chunks.push_back(at::GradMode::is_enabled() ? recompute(rows, *this, work) : work(rows));
    }
    return at::cat(chunks);
  }

  at::Tensor all_at_once(const at::Tensor& x, const ForwardContext& context) {
    const auto inner = up_->forward(x, context);  // (N, F), gated (N, 2F)
    const double rate = context.rate(options_.dropout);
    if (rate == 0) {
      return down_->forward_activated(inner, options_.activation, options_.is_gated,
                                      context);  // (N, D)
    }
    const auto hidden = kernels::activate(inner, options_.activation, options_.is_gated);  // (N, F)
    const auto rng_key = context.rng_key(site_id(options_.layer, BlockDropoutSite::kFeedForward));
    return down_->forward(kernels::dropout(hidden, rate, rng_key), context);
  }

  FeedForwardOptions options_;
  Linear up_{nullptr};  // gated (2F, D): rows of the activated half, then of the other
  Linear down_{nullptr};
};

FeedForwardMaker read_standard_feed_forward(config::Section& /*section*/) {
  return make_standard_feed_forward;
}

Registry<FeedForwardDefinition>& feed_forward_registry() {
  static Registry<FeedForwardDefinition> registry(
      "feed-forward type", {
                               {"standard", read_standard_feed_forward},
                               {"maxout", read_maxout_feed_forward},
                               {"mixture_of_experts", read_mixture_of_experts},
                           });
  return registry;
}

}  // namespace

const Registry<FeedForwardDefinition>& feed_forward_types() { return feed_forward_registry(); }

void register_feed_forward(const FeedForwardDefinition& definition) {
  feed_forward_registry().add(definition);
}

std::shared_ptr<FeedForward> make_standard_feed_forward(const FeedForwardOptions& options) {
  return std::make_shared<StandardFeedForward>(options);
}

}  // namespace weft::nn
