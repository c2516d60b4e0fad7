#include <algorithm>
#include <cmath>
#include <optional>

#include "nn/attention/attention_types.h"

namespace weft::nn {

namespace {

/// A query attends to the keys whose distance is a multiple of the stride.
class StridedPattern : public SparsePattern {
 public:
  /// nullopt: the square root of the sequence's length
  explicit StridedPattern(std::optional<int64_t> stride) : stride_(stride) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto stride = query_step(span, head);
    keys.push_back({position % stride, span.keys, stride});
  }
  int64_t query_step(const AttentionSpan& span, int64_t /*head*/) const override {
    const auto root = std::ceil(std::sqrt(static_cast<double>(span.keys)));
    return stride_.value_or(std::max<int64_t>(1, static_cast<int64_t>(root)));
  }

 private:
  std::optional<int64_t> stride_;
};

}  // namespace

PatternMaker read_strided_pattern(config::Section& section) {
  std::optional<int64_t> stride;
  section.read("stride", stride,
               {.help = "Distance between the tokens that a token attends to. null: the square "
                        "root of the text's length.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  return [stride, section](const PatternOptions& options) {
    if (!stride) {
      require_fixed_pattern(section, "stride", options);
    }
    return std::make_shared<StridedPattern>(stride);
  };
}

}  // namespace weft::nn
