#pragma once

#include "nn/attention/full_attention.h"

namespace weft::nn {

/// Each token attends to those of its sequence at most half a window away (arXiv:2004.05150,
/// section 3.1); causal: to itself and the window - 1 tokens before it.
class WindowAttention : public FullAttention {
 public:
  WindowAttention(const AttentionOptions& options, int64_t window);

 private:
  int64_t window_radius() const override { return window_radius_; }

  int64_t window_radius_;
};

/// Type `window`, with the key `window`.
AttentionMaker read_window_attention(config::Section& section);
AttentionMaker window_attention(int64_t window);

}  // namespace weft::nn
