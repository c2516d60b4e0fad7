#include "nn/attention/window_attention.h"

#include "nn/attention/dense_core.h"
#include "nn/attention/mask_patterns.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

AttentionMaker window_attention(int64_t window) {
  return [window](const AttentionOptions& options) {
    TORCH_CHECK(window > 0, "found a window of ", window, " tokens, at least 1 is needed");
    auto parts = dense_parts(options);
    parts.patterns.push_back(
        std::make_shared<WindowPattern>(options.is_causal ? window - 1 : window / 2));
    return std::make_shared<SelfAttention>(
        options, SelfAttentionParts{.core = std::make_shared<DenseCore>(options, parts)});
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
