#include <bit>
#include <cmath>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/to_device.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

class AlibiBias : public PositionBias {
 public:
  explicit AlibiBias(std::vector<double> slopes) : slopes_(std::move(slopes)) {}

  at::Tensor forward(int64_t longest, const at::Device& device) const override {
    const auto slopes = kernels::to_device(slopes_, device).unsqueeze(1);  // (H, 1)
    const auto distances = at::arange(1 - longest, longest, at::TensorOptions(device)).abs();
    return slopes * -distances;  // (H, 2 L - 1)
  }

 private:
  std::vector<double> slopes_;  // H
};

}  // namespace

std::vector<double> alibi_slopes(int64_t heads) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const auto slope = [](double index, int64_t count) {
    return std::exp2(-8.0 * index / static_cast<double>(count));
  };
  std::vector<double> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    slopes.push_back(head < power ? slope(static_cast<double>(head + 1), power)
                                  : slope(static_cast<double>(2 * (head - power) + 1), 2 * power));
  }
  return slopes;
}

PositionMaker alibi_position(const AlibiOptions& alibi) {
  return [alibi](const PositionOptions& options) {
    auto slopes = alibi.slopes.empty() ? alibi_slopes(options.heads) : alibi.slopes;
    TORCH_CHECK(static_cast<int64_t>(slopes.size()) == options.heads, "found ", slopes.size(),
                " slopes of ALiBi for ", options.heads, " heads");
    return std::make_shared<Position>(
        Position{.bias = std::make_shared<AlibiBias>(std::move(slopes))});
  };
}

PositionMaker read_alibi(config::Section& section) {
  AlibiOptions alibi;
  section.read("slopes", alibi.slopes,
               {.help = "How much a score decreases per token of distance, for each head; empty: a "
                        "geometric sequence from 1/2 to 1/256 with 8 heads.",
                .range = config::at_least(0)});
  return [alibi, section](const PositionOptions& options) {
    const auto count = static_cast<int64_t>(alibi.slopes.size());
    if (count > 0 && count != options.heads) {
      section.fail("slopes", str_cat("found ", count, " slopes, must be one for each of ",
                                     options.heads, " heads"));
    }
    return alibi_position(alibi)(options);
  };
}

}  // namespace weft::nn
