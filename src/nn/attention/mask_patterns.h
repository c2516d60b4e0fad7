#pragma once

#include "nn/attention/attention_parts.h"

namespace weft::nn {

/// Radius of a window of so many tokens: half of them on each side; causal: itself and those before
/// it.
inline int64_t window_radius(int64_t window, bool is_causal) {
  return is_causal ? window - 1 : window / 2;
}

/// A query attends to itself and the keys before it, and to all keys of a prefix.
class CausalPattern : public MaskPattern {
 public:
  bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const override;
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context,
                                                  int64_t longest) const override;
};

/// A query attends to keys at most `radius` positions away (arXiv:2004.05150, section 3.1).
class WindowPattern : public MaskPattern {
 public:
  explicit WindowPattern(int64_t radius) : radius_(radius) {}

  bool is_visible(const AttentionSpan& span, int64_t head, int64_t i, int64_t j) const override;
  std::optional<kernels::AttentionSettings> fused(kernels::AttentionSettings settings,
                                                  const ForwardContext& context,
                                                  int64_t longest) const override;

 private:
  int64_t radius_;
};

}  // namespace weft::nn
