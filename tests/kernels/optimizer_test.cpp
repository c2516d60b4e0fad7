#include "kernels/optimizer.h"

#include <cmath>
#include <limits>

#include "kernels/compare.h"

namespace weft::kernels {
namespace {

class Optimizer : public comparison::EveryVariant {};

UpdateSlice optimizer_slice_of(int64_t size) {
  return {.master = at::randn({size}),
          .compute = at::zeros({size}, at::kBFloat16),
          .gradient = {},
          .first = at::zeros({size}),
          .second = at::zeros({size})};
}

TEST_P(Optimizer, AdamwFollowsFiftyStepsOfTheFormula) {
  const int64_t size = 1003;
  auto slice = optimizer_slice_of(size);
  auto master = slice.master.to(at::kDouble);
  auto first = at::zeros({size}, at::kDouble);
  auto second = at::zeros({size}, at::kDouble);
  for (int64_t t = 1; t <= 50; ++t) {
    slice.gradient = at::randn({size}).to(type());
    const auto g = slice.gradient.to(at::kDouble) * 0.5;
    adamw(slice, {.lr = 1e-2, .weight_decay = 0.1, .step = t}, 0.5);
    master -= master * (1e-2 * 0.1);
    first = first * 0.9 + g * 0.1;
    second = second * 0.999 + g * g * 0.001;
    const auto time = static_cast<double>(t);
    master -= first / (1.0 - std::pow(0.9, time)) /
              ((second / (1.0 - std::pow(0.999, time))).sqrt() + 1e-8) * 1e-2;
  }
  comparison::expect_near(slice.master, master, {.absolute = 0.0, .relative = 2e-6}, "master");
  EXPECT_TRUE(at::equal(slice.compute, slice.master.to(at::kBFloat16)));
}

TEST_P(Optimizer, AdamwEqualsLibTorchsFusedOne) {
  if (type() != at::kFloat) {
    GTEST_SKIP() << "which takes one dtype only";
  }
  auto slice = optimizer_slice_of(517);
  auto master = slice.master.clone();
  auto first = slice.first.clone();
  auto second = slice.second.clone();
  for (int64_t t = 1; t <= 50; ++t) {
    const auto gradient = at::randn({517});
    slice.gradient = gradient.clone();
    adamw(slice, {.lr = 1e-3, .weight_decay = 0.01, .step = t}, 1.0);
    at::_fused_adamw_({master}, {gradient}, {first}, {second}, {},
                      {at::scalar_tensor(static_cast<double>(t))}, 1e-3, 0.9, 0.999, 0.01, 1e-8,
                      false, false);
  }
  comparison::expect_near(slice.master, master, {.absolute = 0.0, .relative = 1e-6}, "master");
}

TEST_P(Optimizer, SgdWithMomentumFollowsTheFormula) {
  auto slice = optimizer_slice_of(77);
  auto master = slice.master.to(at::kDouble);
  auto velocity = at::zeros({77}, at::kDouble);
  slice.first.fill_(123.0);  // values before the first step are ignored
  for (int step = 0; step < 20; ++step) {
    slice.gradient = at::randn({77}).to(type());
    const auto gradient = slice.gradient.to(at::kDouble) * 2.0;
    sgd(slice, {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01, .is_first_step = step == 0},
        2.0);
    velocity = velocity * 0.9 + gradient + master * 0.01;
    master = master - velocity * 0.05;
  }
  comparison::expect_near(slice.master, master, {.absolute = 0.0, .relative = 1e-6}, "master");
  EXPECT_TRUE(at::equal(slice.compute, slice.master.to(at::kBFloat16)));
}

TEST_P(Optimizer, SgdWithoutMomentumNeedsNoState) {
  UpdateSlice slice{.master = at::ones({5}),
                    .compute = {},
                    .gradient = at::full({5}, 2.0).to(type()),
                    .first = {},
                    .second = {}};
  sgd(slice, {.lr = 0.25}, 1.0);
  EXPECT_TRUE(at::equal(slice.master, at::full({5}, 0.5)));
}

TEST_P(Optimizer, NumberOfThreadsChangesNoBit) {
  const auto start = optimizer_slice_of(100001);
  const auto gradient = at::randn({100001}).to(type());
  const auto once = [&] {
    UpdateSlice slice{.master = start.master.clone(),
                      .compute = start.compute.clone(),
                      .gradient = gradient.clone(),
                      .first = start.first.clone(),
                      .second = start.second.clone()};
    adamw(slice, {.lr = 0.1, .step = 1}, 1.0);
    return std::vector<at::Tensor>{slice.master, slice.compute, slice.first, slice.second,
                                   at::scalar_tensor(squared_norm(gradient).value, at::kDouble)};
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

TEST_P(Optimizer, SumOfSquaresIsExactAndKeepsWhatIsNotFinite) {
  for (const int64_t size : {0, 1, 31, 200003}) {
    const auto x = at::randn({size}).to(type());
    const double expected = x.to(at::kDouble).square().sum().item<double>();
    EXPECT_NEAR(squared_norm(x).value, expected, 1e-12 * expected);
    const auto both = squared_norms({x, x.narrow(0, 0, size / 2)});
    EXPECT_EQ(both, (std::vector<double>{squared_norm(x).value,
                                         squared_norm(x.narrow(0, 0, size / 2)).value}));
  }
  auto x = at::ones({100}).to(type());
  x[57] = 1e30;  // its square does not fit into a float
  EXPECT_TRUE(std::isfinite(squared_norm(x).value));
  x[57] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(squared_norm(x).value));
  x[57] = -std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isinf(squared_norm(x).value));
}

TEST_P(Optimizer, ScanMarksBlocksByBits) {
  auto x = at::zeros({5 * kUpdateBlock + 3}).to(type());
  x[1 * kUpdateBlock] = -0.0;  // an update might read it
  x[3 * kUpdateBlock - 1] = std::numeric_limits<double>::quiet_NaN();
  x[5 * kUpdateBlock + 2] = 1e-38;  // its square is lost
  EXPECT_EQ(squared_norm(x).nonzero_blocks, (NonzeroBlocks{0, 1, 1, 0, 0, 1}));
  EXPECT_TRUE(std::isnan(squared_norm(x).value));
}

TEST_P(Optimizer, MoveIntoAddsAndLeavesZeros) {
  for (const int64_t size : {5, 40000}) {
    const auto sum = at::randn({size});
    auto x = at::randn({size}).to(type());
    x.slice(0, 1, size / 2).zero_();
    const auto expected = sum + x.to(at::kFloat);
    accumulate_and_zero(sum, x);
    EXPECT_TRUE(at::equal(sum, expected));
    EXPECT_EQ(x.count_nonzero().item<int64_t>(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Optimizer, comparison::kVariants, comparison::variant_name);

TEST(OptimizerSlices, MustAgree) {
  auto slice = optimizer_slice_of(4);
  slice.gradient = at::ones({5});
  EXPECT_THROW(adamw(slice, {.lr = 1.0}, 1.0), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
