#include "kernels/activation.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compare.h"
#include "kernels/linear/linear.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

constexpr Activation kAll[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                               Activation::kSilu, Activation::kTanh};

class Activate : public comparison::EveryVariant {};

TEST_P(Activate, EqualsPlainReference) {
  for (const auto activation : kAll) {
    for (const int64_t rows : {0, 1, 7}) {
      comparison::expect_same(
          [=](const auto& in) { return activate(in[0], activation); },
          [=](const auto& in) { return reference::activate(in[0], activation); },
          {at::randn({rows, 37}) * 3.0}, type());
    }
  }
}

TEST_P(Activate, IsExactToFp32RoundingOnAGrid) {
  if (type() != at::kFloat) {
    GTEST_SKIP() << "of fp32";
  }
  const auto x = at::linspace(-12.0, 12.0, 200001, at::kFloat).view({1, -1});
  for (const auto activation : kAll) {
    const auto actual = comparison::run([=](const auto& in) { return activate(in[0], activation); },
                                        {x}, at::kFloat);
    const auto expected = comparison::run(
        [=](const auto& in) { return reference::activate(in[0], activation); }, {x}, at::kDouble);
    for (size_t i = 0; i < actual.size(); ++i) {
      comparison::expect_near(actual[i], expected[i], {.absolute = 1e-6, .relative = 1e-7}, "grid");
    }
  }
}

TEST_P(Activate, GeluOfEveryBf16ValueIsWithinOneStep) {
  if (type() != at::kBFloat16) {
    GTEST_SKIP() << "of bf16";
  }
  const auto bits = at::arange(-32768, 32768, at::kShort);
  const auto all = bits.view(at::kBFloat16);
  const auto x =
      all.masked_select(at::logical_and(all.abs() > 1e-30, all.abs() < 1e30)).view({1, -1});
  const auto actual = activate(x, Activation::kGelu);
  const auto expected = reference::activate(x.to(at::kDouble), Activation::kGelu);
  // The reference cancels far to the left, where the fused one does not: there both are next to
  // nothing.
  const auto step = expected.abs() / 128.0 + 1e-12;
  EXPECT_TRUE(at::le((actual.to(at::kDouble) - expected).abs(), step).all().item<bool>());
}

TEST_P(Activate, EndsOfTheRangeAreFiniteAndNaNStays) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto x = at::tensor({-3.0e38, -100.0, 100.0, 3.0e38, std::nan("")}, at::kDouble)
                     .view({1, 5})
                     .to(type());
  for (const auto activation : kAll) {
    const auto y = activate(x, activation).to(at::kDouble);
    EXPECT_TRUE(at::isfinite(y.narrow(1, 0, 4)).all().item<bool>())
        << static_cast<int>(activation) << y;
    EXPECT_TRUE(at::isnan(y[0][4]).item<bool>()) << static_cast<int>(activation);
  }
  const auto top = activate(at::full({1, 1}, inf, at::kFloat).to(type()), Activation::kRelu);
  EXPECT_EQ(top.item<double>(), inf);
}

TEST_P(Activate, GatedEqualsPlainReference) {
  for (const auto activation : kAll) {
    for (const int64_t rows : {0, 1, 7, 3000}) {
      comparison::expect_same(
          [=](const auto& in) { return activate_gated(in[0], activation); },
          [=](const auto& in) { return reference::activate_gated(in[0], activation); },
          {at::randn({rows, 2 * 37}) * 2.0}, type());
    }
  }
}

TEST(ActivateGated, TheFirstHalfIsActivatedTheSecondMultiplies) {
  const auto x = at::tensor({2.0F, -1.0F, 3.0F, 5.0F}).view({1, 4});
  EXPECT_TRUE(
      at::equal(activate_gated(x, Activation::kRelu), at::tensor({6.0F, 0.0F}).view({1, 2})));
  EXPECT_THROW(activate_gated(at::ones({2, 3}), Activation::kRelu), c10::Error);
}

TEST_P(Activate, LinearOfActivatedIsTheLinearLayerOfTheActivationBitForBit) {
  for (const auto activation : kAll) {
    for (const bool is_gated : {false, true}) {
      for (const auto& is_trained : std::vector<std::vector<bool>>{{true, true, true},
                                                                   {true, false, false},
                                                                   {false, true, false},
                                                                   {true, false, true}}) {
        const int64_t inputs = (is_gated ? 2 : 1) * 38;
        const std::vector<at::Tensor> given{at::randn({40, inputs}) * 2.0, at::randn({20, 38}),
                                            at::randn({20})};
        const auto part = [&](const auto& in, std::size_t i) {
          return is_trained[i] ? in[i] : in[i].detach();
        };
        const auto fused = comparison::run(
            [&](const auto& in) {
              return activation_linear(part(in, 0), activation, is_gated, part(in, 1), part(in, 2));
            },
            given, type());
        const auto plain = comparison::run(
            [&](const auto& in) {
              const auto x = part(in, 0);
              const auto y = is_gated ? activate_gated(x, activation) : activate(x, activation);
              return linear(y, part(in, 1), part(in, 2));
            },
            given, type());
        for (std::size_t i = 0; i < fused.size(); ++i) {
          ASSERT_EQ(fused[i].defined(), plain[i].defined()) << i;
          EXPECT_TRUE(!fused[i].defined() || at::equal(fused[i], plain[i]))
              << i << " " << is_gated << " " << static_cast<int>(activation);
        }
      }
    }
  }
  EXPECT_THROW(activation_linear(at::ones({2, 3}), Activation::kRelu, true, at::ones({2, 3}), {}),
               c10::Error);
}

INSTANTIATE_TEST_SUITE_P(Levels, Activate, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
