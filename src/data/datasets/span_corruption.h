#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/datasets/noise_options.h"

namespace weft::data {

/// How many tokens of a text give way, in how many spans: as random_spans_noise_mask of the
/// original has it.
struct SpanCounts {
  int64_t hidden = 0;
  int64_t spans = 0;
};
SpanCounts span_counts(int64_t tokens, const SpanCorruptionOptions& options);

/// Lengths of `parts` parts, none empty, that make up `total`: every such division is as likely as
/// any other.
std::vector<int64_t> random_parts(int64_t total, int64_t parts, Random& random);

/// The spans of a text that give way, as begins and ends: kept and hidden parts by turns, a kept
/// one first and a hidden one last.
using Spans = std::vector<std::pair<int64_t, int64_t>>;
Spans random_spans(int64_t tokens, const SpanCorruptionOptions& options, Random& random);

}  // namespace weft::data
