#include "nn/attention/mask_patterns.h"

#include <algorithm>
#include <cstdlib>

namespace weft::nn {

void MaskPattern::hide(const AttentionSpan& span, int64_t head, int64_t i, bool* visible) const {
  for (int64_t j = 0; j < span.keys; ++j) {
    visible[j] = visible[j] && is_visible(span, head, i, j);
  }
}

bool CausalPattern::is_visible(const AttentionSpan& span,
                               int64_t /*head*/,
                               int64_t i,
                               int64_t j) const {
  return j <= span.offset + i || j < span.prefix;
}

std::optional<kernels::AttentionSettings> CausalPattern::fused(kernels::AttentionSettings settings,
                                                               const ForwardContext& context,
                                                               int64_t /*longest*/) const {
  settings.is_causal = true;
  settings.prefix_lengths = context.prefix_lengths;
  return settings;
}

bool WindowPattern::is_visible(const AttentionSpan& span,
                               int64_t /*head*/,
                               int64_t i,
                               int64_t j) const {
  return std::abs(span.offset + i - j) <= radius_;
}

std::optional<kernels::AttentionSettings> WindowPattern::fused(kernels::AttentionSettings settings,
                                                               const ForwardContext& /*context*/,
                                                               int64_t /*longest*/) const {
  const bool is_first = settings.window_radius < 0;
  settings.window_radius = is_first ? radius_ : std::min(settings.window_radius, radius_);
  return settings;
}

}  // namespace weft::nn
