#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "nn/attention/attention_types.h"
#include "nn/attention/self_attention.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"

namespace weft::nn {

namespace {

/// Attention through inducing points (arXiv:1810.00825, section 3.1): learned vectors read each
/// text, and its tokens read what they have found. No positions are used: the result of a token
/// does not depend on the order of the others.
class InducedAttention : public Attention {
 public:
  InducedAttention(const AttentionOptions& options, int64_t points)
      : options_(options), points_count_(points) {
    const auto own = options.heads * head_dim(options);
    const auto shared = key_heads(options) * head_dim(options);
    const auto linear = [&](const char* name, int64_t inputs, int64_t outputs, bool has_bias) {
      return register_module(name, Linear(LinearOptions{inputs, outputs, has_bias}));
    };
    points_ = register_parameter("points", at::empty({points, options.dim}));
    point_query_ = linear("point_query", options.dim, own, options.has_bias);
    key_value_ = linear("key_value", options.dim, 2 * shared, options.has_bias);
    point_output_ = linear("point_output", own, options.dim, options.has_bias);
    norm_ = register_module("norm", make_layer_norm({.dim = options.dim, .epsilon = 1e-5}));
    query_ = linear("query", options.dim, own, options.has_bias);
    point_key_value_ = linear("point_key_value", options.dim, 2 * shared, options.has_bias);
    output_ = register_module("output", output_projection(options));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    std::vector<int64_t> offsets{0};
    for (int64_t b = 0; b < context.layout.sequences(); ++b) {
      offsets.push_back(offsets.back() + (context.layout.length(b) > 0 ? points_count_ : 0));
    }
    const auto points = kernels::Layout::from_offsets(offsets, x.device());
    const auto sequences = points.tokens() / points_count_;
    const auto queries = point_query_->forward(points_.to(x.scalar_type()), context);
    const auto read =
        attend({.query = queries.repeat({sequences, 1}), .key = key_value_->forward(x, context)},
               points, context.layout, BlockDropoutSite::kCrossAttentionWeights, context);
    const auto found = norm_->forward(points_.to(x.scalar_type()).repeat({sequences, 1}) +
                                      point_output_->forward(read, context));
    const auto mixed = attend(
        {.query = query_->forward(x, context), .key = point_key_value_->forward(found, context)},
        context.layout, points, BlockDropoutSite::kAttentionWeights, context);
    return output_->forward(mixed, context);
  }

 private:
  at::Tensor attend(const kernels::AttentionInput& input,
                    const kernels::Layout& queries,
                    const kernels::Layout& keys,
                    BlockDropoutSite site,
                    const ForwardContext& context) const {
    return kernels::attention(input, queries, keys,
                              attention_settings(options_, context, /*by_head=*/false),
                              context.rng_key(site_id(options_.layer, site)));
  }

  AttentionOptions options_;
  int64_t points_count_;
  at::Tensor points_;  // (m, D)
  Linear point_query_{nullptr};
  Linear key_value_{nullptr};
  Linear point_output_{nullptr};
  std::shared_ptr<Norm> norm_;
  Linear query_{nullptr};
  Linear point_key_value_{nullptr};
  Linear output_{nullptr};
};

}  // namespace

AttentionMaker read_induced_attention(config::Section& section) {
  int64_t points = 32;
  section.read(
      "points", points,
      {.help = "Inducing points: learned vectors through which the tokens of a text attend "
               "to each other.",
       .range = config::between(1, 1 << 16)});
  return [points, section](const AttentionOptions& options) {
    refuse_causal(section, options.is_causal, "induced",
                  "its inducing points read the whole text; full, window and performer are causal");
    if (options.rotary.theta != 0) {
      section.fail("type",
                   "found 'induced' with rotary positions, which it cannot use; learned and "
                   "sinusoidal ones can be used");
    }
    return std::make_shared<InducedAttention>(options, points);
  };
}

}  // namespace weft::nn
