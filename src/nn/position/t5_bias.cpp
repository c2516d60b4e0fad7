#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "kernels/to_device.h"
#include "nn/position/position_types.h"

namespace weft::nn {

int64_t relative_position_bucket(int64_t offset, const T5BiasOptions& options, bool is_causal) {
  int64_t buckets = options.buckets;
  int64_t first = 0;
  int64_t distance = std::max<int64_t>(0, -offset);
  if (!is_causal) {
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

namespace {

class T5Bias : public PositionBias {
 public:
  T5Bias(const T5BiasOptions& bias, const PositionOptions& options)
      : bias_(bias), is_causal_(options.is_causal) {
    weight_ = register_parameter("weight", at::empty({bias.buckets, options.heads}));
  }

  at::Tensor forward(int64_t longest, const at::Device& device) const override {
    std::vector<int64_t> buckets;
    for (int64_t offset = 1 - longest; offset < longest; ++offset) {
      buckets.push_back(relative_position_bucket(offset, bias_, is_causal_));
    }
    return weight_.index_select(0, kernels::to_device(buckets, device))
        .t()
        .to(at::kFloat);  // (H, 2 L - 1)
  }

 private:
  T5BiasOptions bias_;
  bool is_causal_;
  at::Tensor weight_;  // (buckets, H)
};

}  // namespace

PositionMaker t5_bias(const T5BiasOptions& bias) {
  return [bias](const PositionOptions& options) {
    return std::make_shared<Position>(Position{.bias = std::make_shared<T5Bias>(bias, options)});
  };
}

T5BiasOptions read_t5_bias_options(config::Section& section, T5BiasOptions options) {
  section.read("num_buckets", options.buckets,
               {.help = "Number of buckets for relative distances.",
                .unit = "buckets",
                .range = config::between(4, 4096)});
  section.read("max_distance", options.max_distance,
               {.help = "Distances from this value on share the last bucket.",
                .unit = "tokens",
                .range = config::between(4, 1 << 20)});
  if (options.max_distance <= options.buckets / 2) {
    section.fail(
        "max_distance",
        str_cat(options.max_distance, " must be more than half of num_buckets, ", options.buckets));
  }
  return options;
}

PositionMaker read_t5_bias(config::Section& section) {
  auto own = section.only_with("type: t5");
  return t5_bias(read_t5_bias_options(own, {}));
}

}  // namespace weft::nn
