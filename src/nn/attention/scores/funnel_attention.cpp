#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

namespace {

class FunnelScores : public ScoreModifier {
 public:
  FunnelScores(const AttentionOptions& options, bool separate_cls)
      : separate_cls_(separate_cls), scale_(score_scale(options)) {
    const auto width = head_dim(options);
    const auto biases = [&](const char* name) {
      return register_parameter(name, at::empty({options.heads, width}));
    };
    content_bias_ = biases("content_bias");
    position_bias_ = biases("position_bias");
    projection_ = register_parameter("projection", at::empty({options.dim, options.heads * width}));
    type_bias_ = biases("type_bias");
    types_ = register_parameter("types", at::empty({2, options.heads, width}));
  }

  /// Lasts as long as the scores of a pass are computed. All tiles use one view of each parameter,
  /// so that its gradients are added up in the same order with and without recomputation.
  class Pass {
   public:
    Pass(FunnelScores& scores, const ForwardContext& context) : scores_(scores), context_(context) {
      const auto view = [](const at::Tensor& tensor) { return tensor.view_as(tensor); };
      Parameters used{.content_bias = view(scores.content_bias_),
                      .position_bias = view(scores.position_bias_),
                      .distances = scores.distance_vectors(context),
                      .type_bias = view(scores.type_bias_),
                      .types = view(scores.types_)};
      const std::lock_guard lock(scores_.mutex_);
      scores_.used_.insert_or_assign(&context, std::move(used));
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    ~Pass() {
      const std::lock_guard lock(scores_.mutex_);
      scores_.used_.erase(&context_);
    }

   private:
    FunnelScores& scores_;
    const ForwardContext& context_;
  };

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto type = scores.scalar_type();
    const auto key = tile.key.to(type);
    const auto query = tile.query.to(type);
    const auto& used = used_in(tile.context);
    const auto content =
        (key * repeat_for_rows(used.content_bias, key)).sum(-1).unsqueeze(2);  // (G, H, 1, S)
    auto relative = position_scores(used, query, tile) + type_scores(used, query, tile);
    if (separate_cls_) {
      relative = relative * after_first(tile, relative.options());
    }
    return scores + (content + relative) * scale_;
  }

 private:
  struct Parameters {
    at::Tensor content_bias, position_bias, distances, type_bias, types;
  };

  const Parameters& used_in(const ForwardContext& context) {
    const std::lock_guard lock(mutex_);
    return used_.at(&context);
  }

  /// (L, S): 0 in the row and the column of the first token, 1 elsewhere.
  static at::Tensor after_first(const AttentionTile& tile, const at::TensorOptions& options) {
    const auto after = [&](int64_t count) { return at::arange(count, options).clamp_max(1); };
    return after(tile.span.queries).unsqueeze(1) * after(tile.span.keys);
  }

  /// Keys from one query to the next: 2 if queries are pooled.
  static int64_t step_of(const ForwardContext& context) {
    const auto* source = context.encoder_states;
    return source != nullptr ? context.stride / source->stride : 1;
  }

  /// Projected vectors of all distances between queries and keys of a pass, from the largest on,
  /// in steps of a key: (R, H K).
  at::Tensor distance_vectors(const ForwardContext& context) const {
    const auto* source = context.encoder_states;
    const auto keys = (source != nullptr ? source->layout : context.layout).max_length;
    const auto step = step_of(context);
    const auto first = step * (std::max<int64_t>(context.layout.max_length, 1) - 1);
    const auto shift = separate_cls_ ? step - 1 : 0;  // the second query is at the second key
    const auto type = kernels::accumulate_type(projection_);
    const auto distances =
        (first - shift - at::arange(first + keys, projection_.options().dtype(at::kDouble))) *
        static_cast<double>(context.stride / step);
    return kernels::linear(sinusoids_of(distances).to(type), projection_.to(type).t().contiguous(),
                           {});
  }

  /// (G, H, L, S), from the products with the vectors of all distances that occur.
  static at::Tensor position_scores(const Parameters& used,
                                    const at::Tensor& query,
                                    const AttentionTile& tile) {
    const auto step = step_of(tile.context);
    const auto rows = tile.span.queries;
    const auto keys = tile.span.keys;
    const auto first = step * (rows - 1);  // column of key 0 for the last query is 0
    const auto columns = first + keys;
    const auto most = step * (tile.context.layout.max_length - 1);
    const auto vectors =
        used.distances.narrow(0, most - first, columns).to(query.scalar_type());       // (R, H K)
    const auto table = vectors.view({columns, query.size(1), -1}).permute({1, 2, 0});  // (H, K, R)
    const auto products =
        kernels::batched_product(query + repeat_for_rows(used.position_bias, query), table)
            .contiguous();  // (G, H, L, R)
    // Query i and key j are in column first - step i + j.
    return products.as_strided(
        {query.size(0), query.size(1), rows, keys},
        {products.stride(0), products.stride(1), std::max<int64_t>(columns - step, 1), 1},
        products.storage_offset() + first);
  }

  /// [sin, cos] of distances (R) from key to query.
  at::Tensor sinusoids_of(const at::Tensor& distances) const {
    const auto half = projection_.size(0) / 2;
    const auto exponents = at::arange(half, distances.options()) / static_cast<double>(half);
    const auto angles = distances.unsqueeze(1) / at::pow(10000.0, exponents);
    return at::cat({angles.sin(), angles.cos()}, 1);  // (R, D)
  }

  /// (G, H, L, S) or, if all tokens have the same type, (G, H, L, 1).
  static at::Tensor type_scores(const Parameters& used,
                                const at::Tensor& query,
                                const AttentionTile& tile) {
    const auto own = query + repeat_for_rows(used.type_bias, query);
    const auto products = [&](int64_t which) {
      return (own * repeat_for_rows(used.types.select(0, which), own))
          .sum(-1, true);  // (G, H, L, 1)
    };
    const auto same = products(1);
    if (!tile.context.token_types.defined()) {
      return same;
    }
    const auto* source = tile.context.encoder_states;
    const auto& keys = source != nullptr ? source->layout : tile.context.layout;
    const auto query_types = types_of(tile.context.token_types, tile.context.layout, tile);
    const auto key_types =
        types_of(source != nullptr ? source->token_types : tile.context.token_types, keys, tile);
    const auto rows = query_types.unsqueeze(2);   // (G, L, 1)
    const auto columns = key_types.unsqueeze(1);  // (G, 1, S)
    const auto is_same =
        rows.eq(columns).logical_or_(rows.eq(kClsType)).logical_or_(columns.eq(kClsType));
    return at::where(is_same.unsqueeze(1), same, products(0));
  }

  /// (G, length) of the tile's sequences, which all have the same length.
  static at::Tensor types_of(const at::Tensor& types,
                             const kernels::Layout& layout,
                             const AttentionTile& tile) {
    std::vector<int64_t> rows;
    for (const auto b : tile.sequences) {
      const auto begin = layout.offsets[static_cast<std::size_t>(b)];
      for (int64_t i = 0; i < layout.length(b); ++i) {
        rows.push_back(begin + i);
      }
    }
    return types.index_select(0, kernels::to_device(rows, types.device()))
        .view({static_cast<int64_t>(tile.sequences.size()), -1});
  }

  static constexpr int64_t kClsType = 2;  // the same as all others

  bool separate_cls_;
  double scale_;
  at::Tensor content_bias_;   // (H, K)
  at::Tensor position_bias_;  // (H, K)
  at::Tensor projection_;     // (D, H K)
  at::Tensor type_bias_;      // (H, K)
  at::Tensor types_;          // (2, H, K): of different and of same types
  std::mutex mutex_;
  std::map<const ForwardContext*, Parameters> used_;  // in the running passes
};

class FunnelAttention : public Attention {
 public:
  FunnelAttention(const AttentionOptions& options, bool separate_cls) : options_(options) {
    const auto width = options.heads * head_dim(options);
    query_ = register_module("query", Linear(LinearOptions{options.dim, width, false}));
    key_value_ = register_module("key_value",
                                 Linear(LinearOptions{options.dim, 2 * width, options.has_bias}));
    output_ = register_module("output", output_projection(options));
    auto parts = dense_parts(options);
    scores_ = std::make_shared<FunnelScores>(options, separate_cls);
    parts.modifiers.push_back({"relative", scores_});
    core_ = register_module("core", std::make_shared<DenseCore>(options, std::move(parts)));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    TORCH_CHECK(context.decoding_state == nullptr, "pooling attention cannot continue a text");
    const auto query = query_->forward(x, context);
    const auto key_value = key_value_->forward(source_of(x, context), context);
    const FunnelScores::Pass pass(*scores_, context);
    return output_->forward(core_->forward(input_of(query, key_value, context), context), context);
  }

  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    const auto query = query_->forward(x, context).to(at::kFloat);
    const auto key_value = key_value_->forward(source_of(x, context), context).to(at::kFloat);
    const FunnelScores::Pass pass(*scores_, context);
    return core_->weights(input_of(query, key_value, context), context);
  }

 private:
  static at::Tensor source_of(const at::Tensor& x, const ForwardContext& context) {
    return context.encoder_states != nullptr ? context.encoder_states->states : x;
  }

  CoreInput input_of(const at::Tensor& query,
                     const at::Tensor& key_value,
                     const ForwardContext& context) const {
    const auto* source = context.encoder_states;
    return {
        .rows = {.query = query, .key = key_value},
        .queries = context.layout,
        .keys = source != nullptr ? source->layout : context.layout,
        .rng_key = context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights))};
  }

  AttentionOptions options_;
  Linear query_{nullptr};
  Linear key_value_{nullptr};  // weight (2 H K, D): rows of key, then value
  Linear output_{nullptr};
  std::shared_ptr<FunnelScores> scores_;  // a part of the core
  std::shared_ptr<AttentionCore> core_;
};

}  // namespace

std::shared_ptr<Attention> make_funnel_attention(const AttentionOptions& options,
                                                 bool separate_cls) {
  TORCH_CHECK(!options.is_causal, "pooled tokens contain later ones: not for causal attention");
  TORCH_CHECK(options.dim % 2 == 0, "sinusoids need an even width, got ", options.dim);
  return std::make_shared<FunnelAttention>(options, separate_cls);
}

}  // namespace weft::nn
