#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nn/attention/attention.h"
#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// Keys begin, begin + step, ... below end. The part outside of the sequence is ignored.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t step = 1;

  bool operator==(const KeyRange&) const = default;
};

/// A mask pattern that lists the keys of each query, so that no other scores are computed
/// (SparseCore). The causal mask is not part of it.
class SparsePattern : public MaskPattern {
 public:
  /// Appends the keys of the query at `position` of the keys; they may overlap.
  virtual void add_keys(const AttentionSpan& span,
                        int64_t head,
                        int64_t position,
                        std::vector<KeyRange>& keys) const = 0;

  /// Queries that are so many tokens apart have many keys in common; they are computed together.
  virtual int64_t query_step(const AttentionSpan& /*span*/, int64_t /*head*/) const { return 1; }
  /// Whether the keys of a query are not the same in all heads.
  virtual bool differs_by_head() const { return false; }

  bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const override;
  void hide(const AttentionSpan& span, int64_t head, int64_t i, bool* visible) const override;
};

/// One of the patterns for each head, in turn.
class PatternByHead : public SparsePattern {
 public:
  explicit PatternByHead(std::vector<std::shared_ptr<SparsePattern>> patterns)
      : patterns_(std::move(patterns)) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override;
  int64_t query_step(const AttentionSpan& span, int64_t head) const override;
  bool differs_by_head() const override { return true; }

 private:
  const SparsePattern& of(int64_t head) const;

  std::vector<std::shared_ptr<SparsePattern>> patterns_;
};

/// What attention gives to every pattern.
struct PatternOptions {
  int64_t heads = 1;
  int64_t layer = 0;
  bool is_causal = false;
};

using PatternDefinition = ComponentDefinition<SparsePattern, PatternOptions>;
using PatternMaker = PatternDefinition::Maker;

/// The patterns that are attention types of their own, and that `hybrid` combines.
const Registry<PatternDefinition>& sparse_patterns();

/// Adds a pattern for `hybrid`; call it before weft::run. Throws std::invalid_argument if the name
/// is taken. For an attention type, add a definition with `read_sparse_attention` as well.
void register_pattern(const PatternDefinition& definition);

PatternOptions pattern_options(const AttentionOptions& options);

/// Self-attention in which a query attends to the keys of any of the patterns.
std::shared_ptr<Attention> make_sparse_attention(
    const AttentionOptions& options, std::vector<std::shared_ptr<SparsePattern>> patterns);

/// Reads an attention type that is one pattern.
template <PatternMaker (*read)(config::Section&)>
AttentionMaker read_sparse_attention(config::Section& section) {
  return [make = read(section)](const AttentionOptions& options) {
    return make_sparse_attention(options, {make(pattern_options(options))});
  };
}

/// Throws config::Error at `key` if the model is causal: the pattern depends on the length of the
/// sequence, which grows while a text is generated.
void require_fixed_pattern(const config::Section& section,
                           std::string_view key,
                           const PatternOptions& options);

struct BigBirdOptions {
  int64_t block = 64;         // tokens
  int64_t random_blocks = 3;  // for each block, other ones in each head and layer
  int64_t window_blocks = 3;  // neighbours, itself included; odd
  int64_t seed = 0;           // of the random blocks
};

/// Pattern `big_bird` (arXiv:2007.14062, section 2): blocks of tokens that see their neighbours,
/// random blocks, and the first and the last block, which see all. Short sequences have full
/// attention. Throws config::Error for causal models.
PatternMaker read_big_bird_pattern(config::Section& section);
std::shared_ptr<SparsePattern> make_big_bird_pattern(const BigBirdOptions& options, int64_t layer);

/// Chunks of consecutive tokens. A token attends to its own chunk and to chunks beside it; beside
/// the first chunk is the last one, as in transformers' Reformer.
struct NeighbourChunkOptions {
  int64_t length = 64;   // tokens of a chunk
  int64_t before = 1;    // chunks before its own
  int64_t after = 0;     // and after
  int64_t multiple = 1;  // of a text's length to count its chunks; a multiple of `length`
};

std::shared_ptr<SparsePattern> make_neighbour_chunks(const NeighbourChunkOptions& options);

}  // namespace weft::nn
