#include <array>
#include <cmath>
#include <limits>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/softmax.h"

namespace weft::kernels {
namespace {

at::Tensor logits_of(const std::vector<double>& shares, int64_t rows) {
  return at::tensor(shares, at::kDouble).log().to(at::kFloat).expand({rows, -1});
}

at::Tensor uniforms(int64_t count) {
  auto numbers = at::empty({count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    numbers.data_ptr<double>()[i] =
        Random(3, RandomPurpose::kGenerator, 9, static_cast<uint64_t>(i)).uniform_double();
  }
  return numbers;
}

std::vector<int64_t> drawn(const at::Tensor& logits, const std::vector<double>& numbers) {
  const auto columns = sample_categorical(logits, at::tensor(numbers, at::kDouble));
  const auto* const data = columns.const_data_ptr<int64_t>();
  return {data, data + columns.numel()};
}

TEST(DrawColumns, TakesTheColumnWhereTheSumPassesTheNumber) {
  // Sums from the left: 0.25, 0.25, 0.75, 1.
  const auto logits = logits_of({0.25, 0, 0.5, 0.25}, 6);
  EXPECT_EQ(drawn(logits, {0, 0.2499, 0.2501, 0.7499, 0.7501, 1 - 0x1p-53}),
            (std::vector<int64_t>{0, 0, 2, 2, 3, 3}));
}

TEST(DrawColumns, NeverSelectsZeroWeight) {
  const auto logits = logits_of({0, 0.5, 0.5, 0, 0}, 2);
  EXPECT_EQ(drawn(logits, {0, 1 - 0x1p-53}), (std::vector<int64_t>{1, 2}));
}

// Chi-square of 40,000 draws: seven degrees of freedom stay below 24.3 in 999 of 1,000 cases.
TEST(DrawColumns, DrawsWithTheGivenFrequencies) {
  constexpr int64_t kDraws = 40'000;
  const std::vector<double> shares = {0.3, 0.01, 0.04, 0.25, 0.1, 0.2, 0.07, 0.03};
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const auto logits = logits_of(shares, kDraws).to(type);
    const auto counts = at::bincount(sample_categorical(logits, uniforms(kDraws)), {}, 8);
    const auto rounded = at::softmax(logits[0].to(at::kDouble), 0);  // bf16's shares are others
    double deviation = 0;
    for (int64_t column = 0; column < 8; ++column) {
      const double expected = kDraws * rounded[column].item<double>();
      deviation += std::pow(counts[column].item<double>() - expected, 2) / expected;
    }
    EXPECT_LT(deviation, 24.3) << at::toString(type);
    EXPECT_GT(deviation, 0.3) << "too even for chance, " << at::toString(type);
  }
}

TEST(DrawColumns, AreTheSameInAnyNumberOfThreads) {
  const auto logits = (at::arange(64 * 5000, at::kDouble) * 0.7).sin().view({64, 5000}) * 3;
  const auto before = at::get_num_threads();
  at::set_num_threads(1);
  const auto alone = sample_categorical(logits.to(at::kFloat), uniforms(64));
  at::set_num_threads(2);
  const auto together = sample_categorical(logits.to(at::kFloat), uniforms(64));
  at::set_num_threads(before);
  EXPECT_TRUE(alone.equal(together));
}

// What other devices do, by hand: the same from sums of doubles.
TEST(DrawColumns, EqualsASearchInTheSums) {
  const auto logits = (at::arange(300 * 97, at::kDouble) * 1.3).sin().view({300, 97}) * 2;
  const auto numbers = uniforms(300);
  const auto sums = at::softmax(logits, 1).cumsum(1);
  const auto expected =
      at::searchsorted(sums, (numbers * sums.select(1, 96)).unsqueeze(1), false, true).squeeze(1);
  EXPECT_TRUE(sample_categorical(logits, numbers).equal(expected));
}

}  // namespace
}  // namespace weft::kernels
