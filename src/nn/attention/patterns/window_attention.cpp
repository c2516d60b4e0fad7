#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/mask_patterns.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

namespace {

constexpr config::KeySpec kWindow{
    .help =
        "Tokens around each token that it attends to, half of them on each side; in causal "
        "models itself and the tokens before it.",
    .unit = "tokens",
    .range = config::between(1, 1 << 20)};

/// WindowPattern as one of several patterns.
class WindowKeys : public SparsePattern {
 public:
  explicit WindowKeys(int64_t radius) : radius_(radius) {}

  void add_keys(const AttentionSpan& /*span*/,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    keys.push_back({position - radius_, position + radius_ + 1});
  }

 private:
  int64_t radius_;
};

}  // namespace

AttentionMaker window_attention(int64_t window) {
  return [window](const AttentionOptions& options) {
    TORCH_CHECK(window > 0, "found a window of ", window, " tokens, at least 1 is needed");
    auto parts = dense_parts(options);
    parts.patterns.push_back(
        std::make_shared<WindowPattern>(window_radius(window, options.is_causal)));
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

AttentionMaker read_window_attention(config::Section& section) {
  int64_t window = 128;
  section.read("window", window, kWindow);
  return window_attention(window);
}

PatternMaker read_window_pattern(config::Section& section) {
  int64_t window = 128;
  section.read("window", window, kWindow);
  return [window](const PatternOptions& options) {
    return std::make_shared<WindowKeys>(window_radius(window, options.is_causal));
  };
}

}  // namespace weft::nn
