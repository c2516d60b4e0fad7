#include "nn/position/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::nn {

int64_t relative_position_bucket(int64_t offset, const RelativeBiasOptions& options) {
  int64_t buckets = options.buckets;
  int64_t first = 0;
  int64_t distance = std::max<int64_t>(0, -offset);
  if (!options.is_causal) {
    buckets /= 2;
    first = offset > 0 ? buckets : 0;
    distance = std::abs(offset);
  }
  // Half of the buckets cover one distance each, the others logarithmically growing ranges.
  const int64_t exact = buckets / 2;
  if (distance < exact) {
    return first + distance;
  }
  // In single precision, as in the training of the published models.
  const float fraction = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                         static_cast<float>(std::log(static_cast<double>(options.max_distance) /
                                                     static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(fraction * static_cast<float>(buckets - exact));
  return first + std::min(exact + further, buckets - 1);
}

RelativeBiasImpl::RelativeBiasImpl(const RelativeBiasOptions& options) : options_(options) {
  weight_ = register_parameter("weight", at::empty({options.buckets, options.heads}));
}

at::Tensor RelativeBiasImpl::forward(int64_t longest) const {
  std::vector<int64_t> buckets;
  for (int64_t offset = 1 - longest; offset < longest; ++offset) {
    buckets.push_back(relative_position_bucket(offset, options_));
  }
  return weight_.index_select(0, kernels::to_device(buckets, weight_.device()))
      .t()
      .to(at::kFloat);  // (H, 2 L - 1)
}

}  // namespace weft::nn
