#include "nn/attention/window_attention.h"

namespace weft::nn {

WindowAttention::WindowAttention(const AttentionOptions& options, int64_t window)
    : FullAttention(options), window_radius_(options.is_causal ? window - 1 : window / 2) {
  TORCH_CHECK(window > 0, "found a window of ", window, " tokens, at least 1 is needed");
}

AttentionMaker window_attention(int64_t window) {
  return [window](const AttentionOptions& options) {
    return std::make_shared<WindowAttention>(options, window);
  };
}

AttentionMaker read_window_attention(config::Section& section) {
  int64_t window = 128;
  section.read("window", window,
               {.help = "Tokens around each token that it attends to, half of them on each side; "
                        "in causal models itself and the tokens before it.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20),
                .only_if = "type: window"});
  return window_attention(window);
}

}  // namespace weft::nn
