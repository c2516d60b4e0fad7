#include <cmath>
#include <map>
#include <memory>
#include <string>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

constexpr auto kTupeScores = "tupe";

struct TupeOptions {
  bool has_bias = true;  // by distance, TUPE-R
  T5BiasOptions bias = {};
  bool unties_first = true;
};

/// The scores of all pairs of positions, (H, L, L) fp32.
class TupePositions : public SharedPositions {
 public:
  TupePositions(const PositionOptions& options, const TupeOptions& own)
      : heads_(options.heads), scale_(1 / std::sqrt(2 * static_cast<double>(options.head_dim))) {
    const auto width = options.heads * options.head_dim;
    weight_ = register_parameter("weight", at::empty({options.length, options.hidden_dim}));
    norm_ = register_module("norm", default_component(norm_types(), "layer")
                                        .make({.dim = options.hidden_dim, .epsilon = 1e-5}));
    query_ = register_module("query", Linear(LinearOptions{options.hidden_dim, width}));
    key_ = register_module("key", Linear(LinearOptions{options.hidden_dim, width}));
    if (own.has_bias) {
      bias_ = register_module("bias", t5_bias(own.bias)(options)->bias);
    }
    if (own.unties_first) {
      first_ = register_parameter("first", at::empty({2, options.heads}));
    }
  }

  std::map<std::string, at::Tensor> forward(int64_t longest, const at::Device& device) override {
    TORCH_CHECK(longest <= weight_.size(0), "a sequence of ", longest,
                " tokens is longer than the model's maximum of ", weight_.size(0), " positions");
    const auto rows = norm_->forward(weight_.slice(0, 0, longest));
    const auto type = kernels::accumulate_type(rows);
    const auto heads = [&](Linear& projection) {
      return projection->forward(rows)
          .view({longest, heads_, -1})
          .transpose(0, 1)
          .to(type);  // (H, L, K)
    };
    auto scores = kernels::batched_product(heads(query_), heads(key_).transpose(1, 2)) * scale_;
    const auto position = at::arange(longest, at::TensorOptions(device).dtype(at::kLong));
    if (bias_ != nullptr) {
      const auto column = position.unsqueeze(0) - position.unsqueeze(1) + (longest - 1);
      scores = scores + bias_->forward(longest, device)
                            .index_select(1, column.flatten())
                            .view({heads_, longest, longest});
    }
    if (first_.defined()) {
      const auto is_first = position.eq(0);
      const auto constants = first_.to(type).view({2, heads_, 1, 1});
      scores = at::where(is_first, constants[1], scores);
      scores = at::where(is_first.unsqueeze(1), constants[0], scores);
    }
    return {{kTupeScores, scores}};
  }

 private:
  int64_t heads_;
  double scale_;
  at::Tensor weight_;  // (P, D)
  std::shared_ptr<Norm> norm_;
  Linear query_{nullptr};
  Linear key_{nullptr};
  std::shared_ptr<PositionBias> bias_;  // null: none
  at::Tensor first_;  // (2, H): from the first token, to it; undefined: as for the others
};

/// Adds the scores of the positions.
class PositionPairScores : public ScoreModifier {
 public:
  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto& all = shared_positions(tile, kTupeScores);
    const auto& span = tile.span;
    TORCH_CHECK(span.keys <= all.size(2), "scores of ", all.size(2), " positions for ", span.keys,
                " keys");
    return scores + all.narrow(1, span.offset, span.queries)
                        .narrow(2, 0, span.keys)
                        .to(scores.scalar_type());
  }
};

}  // namespace

PositionMaker read_tupe_position(config::Section& section) {
  auto own = section.only_with("type: tupe");
  TupeOptions options;
  own.read("relative", options.has_bias, {.help = "A bias by distance, as in T5 (TUPE-R)."});
  if (options.has_bias || section.is_documenting()) {
    options.bias = read_t5_bias_options(own, {});
  } else {
    for (const auto* key : {"num_buckets", "max_distance"}) {
      if (section.has(key)) {
        section.fail(key, "has no effect with relative: false");
      }
    }
  }
  own.read("untie_cls", options.unties_first,
           {.help = "Scores from and to the first token do not depend on positions."});
  return [options](const PositionOptions& given) {
    Position position{.shared = std::make_shared<TupePositions>(given, options),
                      .further_score_terms = 1};
    position.modifier = [](const AttentionOptions& /*layer*/) {
      return NamedModifier{"tupe", std::make_shared<PositionPairScores>()};
    };
    return std::make_shared<Position>(position);
  };
}

}  // namespace weft::nn
