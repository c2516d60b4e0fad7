#pragma once

#include "nn/attention/full_attention.h"

namespace weft::nn {

/// Each token attends to those of its sequence at most half a window away (arXiv:2004.05150,
/// section 3.1).
class WindowAttention : public FullAttention {
 public:
  explicit WindowAttention(const AttentionOptions& options);

 private:
  int64_t window_radius() const override { return window_radius_; }

  int64_t window_radius_;
};

}  // namespace weft::nn
