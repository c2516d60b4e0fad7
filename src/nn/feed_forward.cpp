#include "nn/feed_forward.h"

#include "kernels/dropout.h"
#include "nn/linear.h"
#include "nn/sites.h"

namespace weft::nn {

namespace {

/// activation(x W_1 + b_1) W_2 + b_2 (arXiv:1706.03762, equation 2).
class PlainFeedForward : public FeedForward {
 public:
  explicit PlainFeedForward(const FeedForwardOptions& options) : options_(options) {
    up_ = make_part<Linear>("up", LinearOptions{options.dim, options.width, options.has_bias});
    down_ = make_part<Linear>("down", LinearOptions{options.width, options.dim, options.has_bias});
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const auto hidden = kernels::activate(up_->adapted(x, pass), options_.activation);  // (N, F)
    const auto chance = pass.chance(site(options_.layer, BlockSite::kFeedForward));
    const auto kept = kernels::dropout(hidden, pass.rate(options_.dropout), chance);
    return down_->adapted(kept, pass);  // (N, D)
  }

 private:
  FeedForwardOptions options_;
  std::shared_ptr<Linear> up_;
  std::shared_ptr<Linear> down_;
};

/// (activation(x W) * x V) W_2 (arXiv:2002.05202, equation 6).
class GatedFeedForward : public FeedForward {
 public:
  explicit GatedFeedForward(const FeedForwardOptions& options) : options_(options) {
    up_ = make_part<Linear>("up", LinearOptions{options.dim, 2 * options.width, options.has_bias});
    down_ = make_part<Linear>("down", LinearOptions{options.width, options.dim, options.has_bias});
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const auto hidden =
        kernels::activate_gated(up_->adapted(x, pass), options_.activation);  // (N, F)
    const auto chance = pass.chance(site(options_.layer, BlockSite::kFeedForward));
    const auto kept = kernels::dropout(hidden, pass.rate(options_.dropout), chance);
    return down_->adapted(kept, pass);  // (N, D)
  }

 private:
  FeedForwardOptions options_;
  std::shared_ptr<Linear> up_;  // (2F, D): rows of the activated half, then of the other
  std::shared_ptr<Linear> down_;
};

}  // namespace

std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options) {
  if (options.is_gated) {
    return std::make_shared<GatedFeedForward>(options);
  }
  return std::make_shared<PlainFeedForward>(options);
}

}  // namespace weft::nn
