#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "kernels/attention/attention.h"
#include "nn/forward_context.h"

/// The exchangeable parts of softmax attention. Scores, modifiers and patterns see one sequence at
/// a time, without padding.
namespace weft::nn {

/// Queries and keys of one sequence, both numbered from 0 within it.
struct AttentionSpan {
  int64_t queries = 0;  // L
  int64_t keys = 0;     // S
  int64_t offset = 0;   // of query 0 among the keys: how many a KV cache had before
  int64_t prefix = 0;   // leading keys that causal queries see too (arXiv:1910.10683)

  // NOLINTNEXTLINE(modernize-use-nullptr): a false positive for defaulted comparisons.
  auto operator<=>(const AttentionSpan&) const = default;
};

/// G sequences with the same span, which are computed together.
struct AttentionTile {
  AttentionSpan span;
  at::Tensor query;  // (G, H, L, K), rotated
  at::Tensor key;  // (G, H, S, K), rotated; a key head is repeated for each query head that uses it
  const ForwardContext& context;
  kernels::DistanceVectors distance_vectors = {};
  std::span<const int64_t> sequences = {};  // the G sequences, as indices of the batch
};

/// The scores of the sequences of one pass, which a layer leaves to the next.
class ScoreChain {
 public:
  /// Of the sequences of a tile, (G, H, L, S); undefined before the first layer.
  at::Tensor& scores(const AttentionSpan& span) { return scores_[span]; }

 private:
  std::map<AttentionSpan, at::Tensor> scores_;
};

/// A part of softmax attention that the fused kernels may be able to compute.
class AttentionPart : public torch::nn::Module {
 public:
  /// Adds what the kernels need to compute this part, for sequences of at most `longest` queries
  /// and keys. nullopt if they cannot: then the whole layer is computed in plain LibTorch.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): parts that the kernels know change it.
  virtual std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings /*settings*/,
                                                          const ForwardContext& /*context*/,
                                                          int64_t /*longest*/) const {
    return std::nullopt;
  }
};

/// How well each key fits a query.
class ScoreFunction : public AttentionPart {
 public:
  /// Keys in the form that `scores` expects in the tile, computed once: (G, H, S, K).
  virtual at::Tensor prepared_keys(const at::Tensor& key) { return key; }
  /// (G, H, L, S), fp32 or fp64.
  virtual at::Tensor scores(const AttentionTile& tile) = 0;

  /// Whether a score depends on nothing but the query and the key, not on their positions.
  virtual bool is_position_independent() const { return false; }
};

/// Changes the scores, which are not masked yet, or the weights after the softmax.
class ScoreModifier : public AttentionPart {
 public:
  /// (G, H, L, S) -> the same shape
  virtual at::Tensor scores(const at::Tensor& scores, const AttentionTile& /*tile*/) {
    return scores;
  }
  /// The same for the weights, before dropout.
  virtual at::Tensor weights(const at::Tensor& weights, const AttentionTile& /*tile*/) {
    return weights;
  }
  /// Added to the mixed values, (G, H, L, K); undefined: nothing. `weights` are after dropout.
  virtual at::Tensor values(const at::Tensor& /*weights*/, const AttentionTile& /*tile*/) {
    return {};
  }
};

struct NamedModifier {
  std::string name;  // of the registered module, hence part of its parameter names
  std::shared_ptr<ScoreModifier> modifier;
};

/// Which keys a query attends to; at least one for each query.
class MaskPattern : public AttentionPart {
 public:
  /// Whether query `i` attends to key `j`. The query is at position span.offset + i of the keys.
  virtual bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const = 0;
  /// Sets visible[j] to false for the keys that query `i` does not attend to. (S)
  virtual void hide(const AttentionSpan& span, int64_t head, int64_t i, bool* visible) const;
};

/// Replaces the keys or values of each sequence by fewer rows.
class SequenceReducer : public torch::nn::Module {
 public:
  struct Result {
    at::Tensor rows;         // (M, G K)
    kernels::Layout layout;  // of these rows; only offsets and lengths are used
  };
  /// rows (N, G K) -> (M, G K). A sequence with rows keeps at least one.
  virtual Result reduce(const at::Tensor& rows, const kernels::Layout& layout) = 0;
};

}  // namespace weft::nn
