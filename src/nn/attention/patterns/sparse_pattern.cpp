#include "nn/attention/patterns/sparse_pattern.h"

#include <algorithm>
#include <utility>

#include "nn/attention/attention_types.h"
#include "nn/attention/self_attention.h"
#include "nn/attention/sparse_core.h"

namespace weft::nn {

namespace {

Registry<PatternDefinition>& pattern_registry() {
  static Registry<PatternDefinition> registry("pattern", {{"window", read_window_pattern},
                                                          {"block_local", read_block_local_pattern},
                                                          {"strided", read_strided_pattern},
                                                          {"dilated", read_dilated_pattern},
                                                          {"multi_scale", read_multi_scale_pattern},
                                                          {"big_bird", read_big_bird_pattern},
                                                          {"global", read_global_pattern}});
  return registry;
}

}  // namespace

bool SparsePattern::is_visible(const AttentionSpan& span,
                               int64_t head,
                               int64_t i,
                               int64_t j) const {
  std::vector<KeyRange> keys;
  add_keys(span, head, span.offset + i, keys);
  return std::ranges::any_of(keys, [&](const KeyRange& range) {
    return j >= range.begin && j < range.end && (j - range.begin) % range.step == 0;
  });
}

void SparsePattern::hide(const AttentionSpan& span, int64_t head, int64_t i, bool* visible) const {
  std::vector<KeyRange> keys;
  add_keys(span, head, span.offset + i, keys);
  std::vector<char> is_listed(static_cast<std::size_t>(span.keys));
  for (const auto& range : keys) {
    auto key = range.begin;
    if (key < 0) {
      key += (-key + range.step - 1) / range.step * range.step;
    }
    for (; key < std::min(range.end, span.keys); key += range.step) {
      is_listed[static_cast<std::size_t>(key)] = 1;
    }
  }
  for (int64_t j = 0; j < span.keys; ++j) {
    visible[j] = visible[j] && is_listed[static_cast<std::size_t>(j)] != 0;
  }
}

const SparsePattern& PatternByHead::of(int64_t head) const {
  return *patterns_.at(static_cast<std::size_t>(head) % patterns_.size());
}

void PatternByHead::add_keys(const AttentionSpan& span,
                             int64_t head,
                             int64_t position,
                             std::vector<KeyRange>& keys) const {
  of(head).add_keys(span, head, position, keys);
}

int64_t PatternByHead::query_step(const AttentionSpan& span, int64_t head) const {
  return of(head).query_step(span, head);
}

PatternOptions pattern_options(const AttentionOptions& options) {
  return {.heads = options.heads, .layer = options.layer, .is_causal = options.is_causal};
}

const Registry<PatternDefinition>& sparse_patterns() { return pattern_registry(); }

void register_pattern(const PatternDefinition& definition) { pattern_registry().add(definition); }

std::shared_ptr<Attention> make_sparse_attention(
    const AttentionOptions& options, std::vector<std::shared_ptr<SparsePattern>> patterns) {
  return attention_with_core(options, std::make_shared<SparseCore>(options, std::move(patterns)));
}

void require_fixed_pattern(const config::Section& section,
                           std::string_view key,
                           const PatternOptions& options) {
  if (options.is_causal) {
    section.fail(key,
                 "found a choice that depends on the length of the text in a causal model; give a "
                 "number");
  }
}

}  // namespace weft::nn
