#include <string>

#include "base/string_util.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/mask_patterns.h"

namespace weft::nn {

namespace {

/// A window with gaps: keys at most `radius` steps of `dilation` tokens away (arXiv:2004.05150,
/// section 3.1).
class DilatedPattern : public SparsePattern {
 public:
  DilatedPattern(int64_t radius, std::vector<int64_t> dilations)
      : radius_(radius), dilations_(std::move(dilations)) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto dilation = query_step(span, head);
    keys.push_back({position - radius_ * dilation, position + radius_ * dilation + 1, dilation});
  }
  int64_t query_step(const AttentionSpan& /*span*/, int64_t head) const override {
    return dilations_[static_cast<std::size_t>(head) % dilations_.size()];
  }
  bool differs_by_head() const override { return dilations_.size() > 1; }

 private:
  int64_t radius_;
  std::vector<int64_t> dilations_;  // of the heads, in turn
};

}  // namespace

PatternMaker read_dilated_pattern(config::Section& section) {
  int64_t window = 128;
  std::vector<int64_t> dilations{2};
  section.read("window", window,
               {.help = "Tokens that a token attends to, half of them on each side; in causal "
                        "models itself and those before it.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read("dilation", dilations,
               {.help = "Distance between the tokens of the window: one number for each head, in "
                        "turn.",
                .unit = "tokens",
                .range = config::between(1, 1 << 16)});
  if (dilations.empty()) {
    section.fail("dilation", "found an empty list, at least one number is needed");
  }
  return [window, dilations](const PatternOptions& options) {
    return std::make_shared<DilatedPattern>(window_radius(window, options.is_causal), dilations);
  };
}

}  // namespace weft::nn
