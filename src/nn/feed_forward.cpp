#include "nn/feed_forward.h"

#include "kernels/dropout.h"
#include "nn/linear.h"
#include "nn/sites.h"

namespace weft::nn {

namespace {

/// activation(x W_1 + b_1) W_2 + b_2 (arXiv:1706.03762, equation 2), or gated
/// (activation(x W) * x V) W_2 (arXiv:2002.05202, equation 6).
class TwoLayers : public FeedForward {
 public:
  explicit TwoLayers(const FeedForwardOptions& options) : options_(options) {
    const int64_t inner = (options.is_gated ? 2 : 1) * options.width;
    up_ = make_part<Linear>("up", LinearOptions{options.dim, inner, options.has_bias});
    down_ = make_part<Linear>("down", LinearOptions{options.width, options.dim, options.has_bias});
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const auto inner = up_->adapted(x, pass);  // (N, F), gated (N, 2F)
    const double rate = pass.rate(options_.dropout);
    if (rate == 0 && down_->is_plain()) {
      return down_->of_activated(inner, options_.activation, options_.is_gated);  // (N, D)
    }
    const auto hidden = options_.is_gated
                            ? kernels::activate_gated(inner, options_.activation)
                            : kernels::activate(inner, options_.activation);  // (N, F)
    const auto chance = pass.chance(site(options_.layer, BlockSite::kFeedForward));
    return down_->adapted(kernels::dropout(hidden, rate, chance), pass);
  }

 private:
  FeedForwardOptions options_;
  std::shared_ptr<Linear> up_;  // gated (2F, D): rows of the activated half, then of the other
  std::shared_ptr<Linear> down_;
};

}  // namespace

std::shared_ptr<FeedForward> make_feed_forward(const FeedForwardOptions& options) {
  return std::make_shared<TwoLayers>(options);
}

}  // namespace weft::nn
