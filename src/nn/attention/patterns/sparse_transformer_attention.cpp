#include <algorithm>

#include "base/string_util.h"
#include "nn/attention/attention_types.h"

namespace weft::nn {

namespace {

enum class SparseMode { kStrided, kFixed };
enum class SparseMix { kHeads, kMerged, kLayers };

struct SparseTransformerOptions {
  SparseMode mode = SparseMode::kStrided;
  SparseMix mix = SparseMix::kHeads;
  int64_t stride = 128;
  int64_t summary = 8;
};

/// The pattern of the near keys, A1 of arXiv:1904.10509, section 4.3: the last `stride` keys, or
/// those of the same block.
class NearKeys : public SparsePattern {
 public:
  explicit NearKeys(const SparseTransformerOptions& options) : options_(options) {}

  void add_keys(const AttentionSpan& /*span*/,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto stride = options_.stride;
    if (options_.mode == SparseMode::kFixed) {
      keys.push_back({position / stride * stride, (position / stride + 1) * stride});
    } else {
      keys.push_back({position - stride + 1, position + stride});
    }
  }

 private:
  SparseTransformerOptions options_;
};

/// The pattern of the far keys, A2: every stride-th key, or the last `summary` keys of each block.
class FarKeys : public SparsePattern {
 public:
  FarKeys(const SparseTransformerOptions& options, bool is_causal)
      : options_(options), is_causal_(is_causal) {}

  void add_keys(const AttentionSpan& span,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto stride = options_.stride;
    if (options_.mode == SparseMode::kStrided) {
      keys.push_back({position % stride, span.keys, stride});
      return;
    }
    const auto first = stride - options_.summary;
    for (auto begin = first; begin < span.keys; begin += stride) {
      keys.push_back({begin, begin + options_.summary});
    }
    if (first >= (is_causal_ ? position + 1 : span.keys)) {  // no block before it has a summary
      keys.push_back({position, position + 1});
    }
  }
  int64_t query_step(const AttentionSpan& /*span*/, int64_t /*head*/) const override {
    return options_.mode == SparseMode::kStrided ? options_.stride : 1;
  }

 private:
  SparseTransformerOptions options_;
  bool is_causal_;
};

std::vector<std::shared_ptr<SparsePattern>> patterns_of(const SparseTransformerOptions& own,
                                                        const AttentionOptions& options) {
  const auto near = std::make_shared<NearKeys>(own);
  const auto far = std::make_shared<FarKeys>(own, options.is_causal);
  switch (own.mix) {
    case SparseMix::kHeads:
      return {
          std::make_shared<PatternByHead>(std::vector<std::shared_ptr<SparsePattern>>{near, far})};
    case SparseMix::kMerged:
      return {near, far};
    case SparseMix::kLayers:
      break;
  }
  if (options.layer % 2 == 0) {
    return {near};
  }
  return {far};
}

}  // namespace

AttentionMaker read_sparse_transformer_attention(config::Section& section) {
  SparseTransformerOptions own;
  section.read_choice(
      "mode", own.mode, {{"strided", SparseMode::kStrided}, {"fixed", SparseMode::kFixed}},
      {.help = "strided: a token attends to those at most `stride` away and to every "
               "stride-th token. fixed: to its block of `stride` tokens and to the "
               "last `summary` tokens of every block."});
  section.read_choice(
      "mix", own.mix,
      {{"heads", SparseMix::kHeads},
       {"merged", SparseMix::kMerged},
       {"layers", SparseMix::kLayers}},
      {.help = "Where the two patterns are: in every other head, both in each head, "
               "or in every other layer."});
  section.read("stride", own.stride,
               {.help = "Near the square root of the length, the cost is lowest.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  if (own.mode == SparseMode::kFixed || section.is_documenting()) {
    section.read("summary", own.summary,
                 {.help = "Tokens at the end of each block that all tokens see.",
                  .unit = "tokens",
                  .range = config::between(1, 1 << 20),
                  .only_if = "mode: fixed"});
  } else if (section.has("summary")) {
    section.fail("summary", "has no effect with `mode: strided`");
  }
  if (own.mode == SparseMode::kFixed && own.summary > own.stride) {
    section.fail("summary",
                 str_cat("found ", own.summary, ", at most `stride: ", own.stride, "` is allowed"));
  }
  return [own](const AttentionOptions& options) {
    return make_sparse_attention(options, patterns_of(own, options));
  };
}

}  // namespace weft::nn
