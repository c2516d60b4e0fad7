#pragma once

#include "nn/attention/full_attention.h"

namespace weft::nn {

/// Every token sees those of its sequence that are at most half a window away (arXiv:2004.05150,
/// section 3.1).
class WindowAttention : public FullAttention {
 public:
  explicit WindowAttention(const AttentionOptions& options);

 private:
  int64_t reach() const override { return reach_; }

  int64_t reach_;
};

}  // namespace weft::nn
