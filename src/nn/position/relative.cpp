#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

/// For each pair the column of x (G, H, L, R) that `columns` (L, S) names.
at::Tensor gather_columns(const at::Tensor& x, const at::Tensor& columns) {
  return x.gather(3, columns.expand({x.size(0), x.size(1), -1, -1}));
}

struct ShawOptions {
  int64_t clip = 16;
  bool has_values = true;
  bool shares_layers = false;
};

constexpr auto kShawKeys = "shaw_keys";
constexpr auto kShawValues = "shaw_values";

/// The vectors of all layers.
class SharedShawVectors : public SharedPositions {
 public:
  SharedShawVectors(const PositionOptions& options, const ShawOptions& own) {
    keys_ = register_parameter("keys", at::empty({2 * own.clip + 1, options.head_dim}));
    if (own.has_values) {
      values_ = register_parameter("values", at::empty({2 * own.clip + 1, options.head_dim}));
    }
  }

  std::map<std::string, at::Tensor> forward(int64_t /*longest*/,
                                            const at::Device& /*device*/) override {
    std::map<std::string, at::Tensor> result{{kShawKeys, keys_}};
    if (values_.defined()) {
      result[kShawValues] = values_;
    }
    return result;
  }

 private:
  at::Tensor keys_;    // (2 clip + 1, K)
  at::Tensor values_;  // the same
};

class ShawPositions : public ScoreModifier {
 public:
  ShawPositions(const AttentionOptions& options, const ShawOptions& own)
      : own_(own), scale_(score_scale(options)) {
    if (own.shares_layers) {
      return;
    }
    const auto width = head_dim(options);
    keys_ = register_parameter("keys", at::empty({2 * own.clip + 1, width}));
    if (own.has_values) {
      values_ = register_parameter("values", at::empty({2 * own.clip + 1, width}));
    }
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto& keys = own_.shares_layers ? shared_positions(tile, kShawKeys) : keys_;
    const auto products = project_features(tile.query, keys);  // (G, H, L, 2 clip + 1)
    return scores + gather_columns(products, columns_of(tile)).to(scores.scalar_type()) * scale_;
  }
  at::Tensor values(const at::Tensor& weights, const AttentionTile& tile) override {
    if (!own_.has_values) {
      return {};
    }
    const auto& vectors = own_.shares_layers ? shared_positions(tile, kShawValues) : values_;
    const auto columns = columns_of(tile).expand_as(weights);
    auto sizes = weights.sizes().vec();
    sizes.back() = vectors.size(0);
    const auto sums = at::zeros(sizes, weights.options()).scatter_add(3, columns, weights);
    return project_features(sums, vectors.t().contiguous());
  }

 private:
  at::Tensor columns_of(const AttentionTile& tile) const {
    return key_distances(tile).clamp(-own_.clip, own_.clip) + own_.clip;
  }

  ShawOptions own_;
  double scale_;
  at::Tensor keys_;    // (2 clip + 1, K); undefined if all layers share them
  at::Tensor values_;  // the same
};

class TransformerXlPositions : public ScoreModifier {
 public:
  TransformerXlPositions(const AttentionOptions& options, int64_t clamp)
      : clamp_(clamp),
        heads_(options.heads),
        is_causal_(options.is_causal),
        scale_(score_scale(options)) {
    const auto width = head_dim(options);
    content_bias_ = register_parameter("content_bias", at::empty({options.heads, width}));
    position_bias_ = register_parameter("position_bias", at::empty({options.heads, width}));
    projection_ = register_parameter("projection", at::empty({options.heads * width, options.dim}));
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto type = scores.scalar_type();
    const auto key = tile.key.to(type);
    const auto content =
        (key * repeat_for_rows(content_bias_, key)).sum(-1).unsqueeze(2);  // (G, H, 1, S)
    const auto reach = std::max(tile.span.keys, tile.span.offset + tile.span.queries);
    const auto rows = vectors_of(1 - reach, reach, type);
    const auto table = rows.view({rows.size(0), heads_, -1}).permute({1, 2, 0});  // (H, K, R)
    const auto own = tile.query.to(type);
    const auto query = own + repeat_for_rows(position_bias_, own);
    const auto products = kernels::batched_product(query, table);  // (G, H, L, R)
    const auto columns = reach - 1 - key_distances(tile);  // of query position - key position
    const auto positions = gather_columns(products, columns);
    return scores + (content + positions) * scale_;
  }

  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context,
                                                  int64_t longest) const override {
    if (!settings.distance_vectors.is_empty()) {  // the kernels add those of one kind
      return std::nullopt;
    }
    const auto reach = std::max<int64_t>(1, longest);
    const bool sees_left_only = is_causal_ && context.prefix_lengths.empty();
    const int64_t least = sees_left_only ? 0 : 1 - reach;
    std::vector<int32_t> rows;  // of key position - query position
    for (auto distance = 1 - reach; distance < reach; ++distance) {
      rows.push_back(static_cast<int32_t>(std::max(-distance, least) - least));
    }
    settings.query_bias = content_bias_.flatten();
    settings.distance_vectors = {
        .keys = vectors_of(least, reach, projection_.scalar_type()),
        .query_bias = (position_bias_ - content_bias_).flatten(),
        .rows = std::make_shared<const std::vector<int32_t>>(std::move(rows))};
    return settings;
  }

 private:
  /// Of the distances from key to query that are at least `begin` and less than `end`: [sin, cos],
  /// projected to the heads, (end - begin, H K).
  at::Tensor vectors_of(int64_t begin, int64_t end, at::ScalarType type) const {
    const auto dim = projection_.size(1);
    const auto options = at::TensorOptions(projection_.device()).dtype(at::kDouble);
    auto distance = at::arange(begin, end, options);
    if (clamp_ > 0) {
      distance = distance.clamp(-clamp_, clamp_);
    }
    const auto exponents = at::arange(0, dim, 2, options) / static_cast<double>(dim);
    const auto angles = distance.unsqueeze(1) / at::pow(10000.0, exponents);
    const auto sinusoids = at::cat({angles.sin(), angles.cos()}, 1).narrow(1, 0, dim);
    return kernels::linear(sinusoids.to(type), projection_.to(type), {});
  }

  int64_t clamp_;
  int64_t heads_;
  bool is_causal_;
  double scale_;
  at::Tensor content_bias_;   // u (H, K)
  at::Tensor position_bias_;  // w (H, K)
  at::Tensor projection_;     // W (H K, D)
};

}  // namespace

PositionMaker read_shaw_position(config::Section& section) {
  ShawOptions own;
  section.read("max_distance", own.clip,
               {.help = "Larger distances share the vectors of this one.",
                .unit = "tokens",
                .range = config::between(1, 1 << 16)});
  section.read("on_values", own.has_values,
               {.help = "Vectors of the distance are added to the values as well as to the keys."});
  section.read("share_layers", own.shares_layers,
               {.help = "All layers have the same vectors, rather than each its own."});
  return [own](const PositionOptions& options) {
    Position position;
    if (own.shares_layers) {
      position.shared = std::make_shared<SharedShawVectors>(options, own);
    }
    position.modifier = [own](const AttentionOptions& layer) {
      return NamedModifier{"shaw", std::make_shared<ShawPositions>(layer, own)};
    };
    return std::make_shared<Position>(position);
  };
}

PositionMaker read_transformer_xl_position(config::Section& section) {
  int64_t clamp = 0;
  section.read("clamp", clamp,
               {.help = "Larger distances count as this one. 0: none do.",
                .unit = "tokens",
                .range = config::between(0, 1 << 20)});
  return [clamp](const PositionOptions& /*options*/) {
    Position position;
    position.modifier = [clamp](const AttentionOptions& options) {
      return NamedModifier{"transformer_xl",
                           std::make_shared<TransformerXlPositions>(options, clamp)};
    };
    return std::make_shared<Position>(position);
  };
}

}  // namespace weft::nn
