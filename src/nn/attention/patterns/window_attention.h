#pragma once

#include "nn/attention/attention.h"

namespace weft::nn {

/// Type `window`, with the key `window`: each token attends to those of its sequence at most half a
/// window away (arXiv:2004.05150, section 3.1); causal: to itself and the window - 1 tokens before
/// it.
AttentionMaker read_window_attention(config::Section& section);
AttentionMaker window_attention(int64_t window);

}  // namespace weft::nn
