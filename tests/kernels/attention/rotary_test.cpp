#include "kernels/attention/rotary.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/compare.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

/// Head size 16, theta 500; expected values from transformers' ROPE_INIT_FUNCTIONS.
void expect_frequencies(const RotaryScaling& stretch,
                        const std::vector<double>& expected,
                        double strength) {
  const auto table =
      rotary_table(2, {.width = 16, .theta = 500, .scaling = stretch}, at::kCPU).to(at::kDouble);
  for (int64_t plane = 0; plane < 8; ++plane) {
    const double cosine = table[1][plane].item<double>();
    const double sine = table[1][8 + plane].item<double>();
    const double wanted = expected.at(static_cast<std::size_t>(plane));
    EXPECT_NEAR(std::atan2(sine, cosine), wanted, 2e-6 * wanted) << "plane " << plane;
    EXPECT_NEAR(std::hypot(sine, cosine), strength, 1e-6) << "plane " << plane;
  }
}

TEST(RotaryTable, IsResizedAsInTheReference) {
  expect_frequencies({.type = RotaryScalingType::kLinear, .factor = 4},
                     {0.25, 0.114965819, 0.05286856, 0.0243123118, 0.0111803403, 0.00514142821,
                      0.00236435398, 0.00108727964},
                     1);
  expect_frequencies({.type = RotaryScalingType::kDynamic, .factor = 4},
                     {1, 0.459863275, 0.21147424, 0.0972492471, 0.0447213612, 0.0205657128,
                      0.0094574159, 0.00434911856},
                     1);
  expect_frequencies(
      {.type = RotaryScalingType::kLlama3, .factor = 8, .original_max_positions = 256},
      {1, 0.459863275, 0.21147424, 0.0961796418, 0.0163135789, 0.0025707141, 0.00118217699,
       0.000543639821},
      1);
  expect_frequencies({.type = RotaryScalingType::kYarn,
                      .factor = 4,
                      .low_frequency_factor = 1,
                      .high_frequency_factor = 32,
                      .original_max_positions = 512,
                      .attention_factor = 1.138629436},
                     {1, 0.459863275, 0.17975311, 0.0680744722, 0.0245967489, 0.00822628476,
                      0.00236435398, 0.00108727964},
                     1.138629436);
  expect_frequencies({.type = RotaryScalingType::kYarn,
                      .factor = 4,
                      .low_frequency_factor = 2,
                      .high_frequency_factor = 16,
                      .original_max_positions = 512,
                      .truncates = false},
                     {1, 0.459863275, 0.21147424, 0.0726047084, 0.0208581742, 0.00514142821,
                      0.00236435398, 0.00108727964},
                     1);
}

class Rotation : public comparison::EveryVariant {};

TEST_P(Rotation, EqualsPlainReference) {
  for (const auto& [rows, width, rotated] : {std::array<int64_t, 3>{37, 64, 64},
                                             {1, 64, 32},
                                             {300, 64, 64},
                                             {5, 6, 4},
                                             {5, 2, 2},
                                             {4, 24, 8},
                                             {0, 8, 8}}) {
    SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(rotated));
    const auto table = rotary_table(50, {.width = rotated, .theta = 100.0}, at::kCPU);
    const auto positions = at::randint(50, {rows}, at::kLong);
    const auto heads = [width = width](const at::Tensor& x) {  // the rows strided, as in attention
      return x.narrow(1, width, 3 * width).unflatten(1, {3, width});
    };
    comparison::expect_same(
        [&](const auto& in) { return apply_rotary(heads(in[0]), table, positions); },
        [&](const auto& in) {
          return reference::rotate(heads(in[0]), table.index_select(0, positions));
        },
        {at::randn({rows, 5 * width})}, type());
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Rotation, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
