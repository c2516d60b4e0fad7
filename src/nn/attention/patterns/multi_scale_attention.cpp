#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/string_util.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/mask_patterns.h"

namespace weft::nn {

namespace {

/// Radius of a window: tokens, or a share of the sequence's length.
struct Scale {
  int64_t tokens = 0;   // if the divisor is 0
  int64_t divisor = 0;  // length / divisor
};

/// `16`, `1/8` or `all`; nullopt for anything else.
std::optional<Scale> parse_scale(const std::string& text) {
  if (text == "all") {
    return Scale{.divisor = 1};
  }
  const bool is_share = text.starts_with("1/");
  const auto* const begin = text.data() + (is_share ? 2 : 0);
  int64_t number = 0;
  const auto parsed = std::from_chars(begin, text.data() + text.size(), number);
  constexpr int64_t kMost = 1 << 20;
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number < 1 ||
      number > kMost) {
    return std::nullopt;
  }
  return is_share ? Scale{.divisor = number} : Scale{.tokens = number};
}

/// A window of its own for each head (arXiv:1912.00544, section 3.1).
class MultiScalePattern : public SparsePattern {
 public:
  MultiScalePattern(std::vector<Scale> scales, bool is_causal)
      : scales_(std::move(scales)), is_causal_(is_causal) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto& scale = scales_[static_cast<std::size_t>(head) % scales_.size()];
    const auto window = scale.divisor > 0 ? span.keys / scale.divisor : scale.tokens;
    const auto all = scale.divisor == 1;
    const auto radius = all ? span.keys : window_radius(window, is_causal_);
    keys.push_back({position - radius, position + radius + 1});
  }
  bool differs_by_head() const override { return true; }

 private:
  std::vector<Scale> scales_;
  bool is_causal_;
};

}  // namespace

PatternMaker read_multi_scale_pattern(config::Section& section) {
  std::vector<std::string> windows{"4", "32", "128", "all"};
  section.read("windows", windows,
               {.help = "Window of each head, in turn: a number of tokens as for `type: window`, a "
                        "share of the text such as `1/8`, or `all`."});
  std::vector<Scale> scales;
  bool has_shares = false;
  for (const auto& text : windows) {
    const auto scale = parse_scale(text);
    if (!scale) {
      section.fail("windows",
                   str_cat("found '", text,
                           "', allowed are a number of tokens from 1 to 1048576, a share "
                           "such as 1/8, or all"));
    }
    has_shares = has_shares || scale->divisor > 1;
    scales.push_back(*scale);
  }
  if (scales.empty()) {
    section.fail("windows", "found an empty list, at least one window is needed");
  }
  return [scales, has_shares, section](const PatternOptions& options) {
    if (has_shares) {
      require_fixed_pattern(section, "windows", options);
    }
    return std::make_shared<MultiScalePattern>(scales, options.is_causal);
  };
}

}  // namespace weft::nn
