#include "nn/attention/window_attention.h"

namespace weft::nn {

WindowAttention::WindowAttention(const AttentionOptions& options)
    : FullAttention(options),
      window_radius_(options.is_causal ? options.window - 1 : options.window / 2) {
  TORCH_CHECK(options.window > 0, "a window of ", options.window, " tokens, must be at least 1");
}

}  // namespace weft::nn
