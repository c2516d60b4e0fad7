#include <memory>

#include <ATen/ATen.h>

#include "kernels/dropout.h"
#include "nn/dropout_sites.h"
#include "nn/feed_forward/feed_forward.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

/// The largest of several projections for each hidden feature (arXiv:1302.4389, equation 2), and a
/// projection back.
class Maxout : public FeedForward {
 public:
  Maxout(const FeedForwardOptions& options, int64_t pieces) : options_(options), pieces_(pieces) {
    up_ = register_module(
        "up", Linear(LinearOptions{options.dim, pieces * options.width, options.has_bias}));
    down_ = register_module("down",
                            Linear(LinearOptions{options.width, options.dim, options.has_bias}));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto pieces = up_->forward(x, context).chunk(pieces_, 1);
    auto hidden = pieces[0];
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      hidden = at::maximum(hidden, pieces[i]);
    }
    const auto rng_key = context.rng_key(site_id(options_.layer, BlockDropoutSite::kFeedForward));
    return down_->forward(kernels::dropout(hidden, context.rate(options_.dropout), rng_key),
                          context);
  }

 private:
  FeedForwardOptions options_;
  int64_t pieces_;
  Linear up_{nullptr};
  Linear down_{nullptr};
};

}  // namespace

FeedForwardMaker read_maxout_feed_forward(config::Section& section) {
  int64_t pieces = 2;
  section.read("pieces", pieces,
               {.help = "Projections of which each feature is the largest.",
                .range = config::between(1, 64)});
  return [pieces](const FeedForwardOptions& options) {
    return std::make_shared<Maxout>(options, pieces);
  };
}

}  // namespace weft::nn
