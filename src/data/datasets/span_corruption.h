#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/datasets/corruption.h"

namespace weft::data {

/// Number of tokens to replace and number of spans: same as random_spans_noise_mask of T5.
struct SpanCounts {
  int64_t noise_tokens = 0;
  int64_t spans = 0;
};
SpanCounts span_counts(int64_t tokens, const SpanCorruptionOptions& options);

/// Lengths of `parts` non-empty parts with sum `total`; all such partitions are equally likely.
std::vector<int64_t> random_segmentation(int64_t total, int64_t parts, Random& random);

/// Spans of a text to replace, as [begin, end) pairs. Kept and replaced parts alternate, a kept one
/// first and a replaced one last.
using Spans = std::vector<std::pair<int64_t, int64_t>>;
Spans random_spans(int64_t tokens, const SpanCorruptionOptions& options, Random& random);

}  // namespace weft::data
