#include "kernels/linear/linear.h"

#include "kernels/compare.h"
#include "kernels/linear/lora_linear.h"
#include "kernels/norm.h"

namespace weft::kernels {
namespace {

class Linear : public comparison::EveryVariant {};

TEST_P(Linear, EqualsLibTorch) {
  for (const int64_t rows : {0, 1, 300}) {
    const std::vector<at::Tensor> inputs{at::randn({rows, 20}), at::randn({30, 20}),
                                         at::randn({30})};
    comparison::expect_same([](const auto& in) { return kernels::linear(in[0], in[1], in[2]); },
                            [](const auto& in) { return at::linear(in[0], in[1], in[2]); }, inputs,
                            type());
    comparison::expect_same([](const auto& in) { return kernels::linear(in[0], in[1], {}); },
                            [](const auto& in) { return at::linear(in[0], in[1]); },
                            {inputs[0], inputs[1]}, type());
  }
}

TEST_P(Linear, SliceHasTheSameColumnsAsTheWhole) {
  const std::vector<at::Tensor> inputs{at::randn({40, 20}), at::randn({30, 20}), at::randn({30})};
  for (const int64_t first : {0, 7, 18}) {
    comparison::expect_same(
        [&](const auto& in) { return kernels::linear_slice(in[0], in[1], in[2], first, 12); },
        [&](const auto& in) { return at::linear(in[0], in[1], in[2]).narrow(1, first, 12); },
        inputs, type());
  }
  EXPECT_THROW(kernels::linear_slice(inputs[0], inputs[1], inputs[2], 20, 12), c10::Error);
}

TEST_P(Linear, ABatchedProductEqualsThatOfLibTorch) {
  const auto a = at::randn({3, 2, 7, 20});
  const auto weight = at::randn({30, 20});
  for (const auto& b :
       {at::randn({3, 2, 20, 30}), at::randn({2, 20, 30}), at::randn({3, 1, 20, 30}), weight.t()}) {
    comparison::expect_same([](const auto& in) { return batched_product(in[0], in[1]); },
                            [](const auto& in) { return at::matmul(in[0], in[1]); }, {a, b},
                            type());
  }
}

TEST_P(Linear, TheGradientOfAPartIsAddedToTheLeafInPlace) {
  const auto x = at::randn({40, 3}).to(type());
  const auto weight = at::randn({5, 3}).to(type()).requires_grad_(true);
  weight.mutable_grad() = at::ones({5, 3}, type());
  const auto* const place = weight.grad().data_ptr();
  const auto g = at::randn({40, 2}).to(type());
  kernels::linear_slice(x, weight, {}, 1, 2).backward(g);
  EXPECT_EQ(weight.grad().data_ptr(), place);
  auto expected = at::ones({5, 3});
  expected.narrow(0, 1, 2).add_(g.to(at::kFloat).t().mm(x.to(at::kFloat)));
  EXPECT_TRUE(at::allclose(weight.grad().to(at::kFloat), expected, 1e-2, 1e-1));
}

TEST_P(Linear, FrozenInputsHaveNoGradient) {
  const auto x = at::randn({4, 3}).to(type());
  const auto weight = at::randn({2, 3}).to(type());
  const auto bias = at::randn({2}).to(type()).requires_grad_(true);
  kernels::linear(x, weight, bias).sum().backward();
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_TRUE(at::equal(bias.grad(), at::full({2}, 4.0).to(type())));
}

TEST_P(Linear, TheGradientOfALeafIsAddedToInPlace) {
  const auto x = at::randn({40, 3}).to(type());
  const auto weight = at::randn({2, 3}).to(type()).requires_grad_(true);
  weight.mutable_grad() = at::ones({2, 3}, type());
  const auto* const place = weight.grad().data_ptr();
  const auto g = at::randn({40, 2}).to(type());
  kernels::linear(x, weight, {}).backward(g);
  EXPECT_EQ(weight.grad().data_ptr(), place);
  const auto expected = (g.to(at::kFloat).t().mm(x.to(at::kFloat)) + 1).to(type());
  EXPECT_TRUE(at::allclose(weight.grad().to(at::kFloat), expected.to(at::kFloat), 1e-2, 1e-4));
}

TEST_P(Linear, GradientOfTheBiasKeepsItsBits) {
  const auto g = at::randn({1000, 50}).to(type());
  const auto once = [&] {
    const auto bias = at::zeros({50}, type()).requires_grad_(true);
    kernels::linear(at::ones({1000, 2}, type()), at::ones({50, 2}, type()), bias).backward(g);
    return std::vector<at::Tensor>{bias.grad()};
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

TEST_P(Linear, NormOutputsAreRecomputedBitForBit) {
  for (const bool is_rms : {false, true}) {
    const auto normed = [&](const auto& in) {
      return is_rms ? rms_norm(in[0], in[1], 1e-5) : layer_norm(in[0], in[1], in[2], 1e-5);
    };
    const std::vector<at::Tensor> inputs{at::randn({70, 33}) + 1.0, at::randn({33}),
                                         at::randn({33}), at::randn({20, 33})};
    const auto again = comparison::run(
        [&](const auto& in) { return kernels::linear(normed(in), in[3], {}); }, inputs, type());
    const auto kept = comparison::run(
        [&](const auto& in) {
          return kernels::linear(normed(in).view({70, 33}), in[3],
                                 {});  // a view is not the output of a norm
        },
        inputs, type());
    EXPECT_EQ(again[3].defined(), !is_rms);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(again[i].defined(), kept[i].defined()) << i;
      EXPECT_TRUE(!again[i].defined() || at::equal(again[i], kept[i])) << is_rms << " " << i;
    }
  }
}

TEST_P(Linear, SavesItsInputsExceptNormOutputs) {
  const auto x = at::randn({4, 3}).to(type()).requires_grad_(true);
  const auto one = at::ones({3}, type());
  const auto weight = at::randn({2, 3}).to(type()).requires_grad_(true);
  const auto normed = layer_norm(x, one, one, 1e-5);
  const auto uses = normed.use_count();
  const auto y = kernels::linear(normed, weight, {});
  const auto of_part = kernels::linear_slice(normed, weight, {}, 1, 1);
  const auto adapted = kernels::linear(
      normed, weight, {},
      {LoraUpdate{.a = at::randn({1, 3}).to(type()), .b = at::randn({2, 1}).to(type())}});
  EXPECT_EQ(normed.use_count(), uses);
  const auto shifted = normed + 1;
  const auto of_shifted = kernels::linear(shifted, weight, {});
  EXPECT_EQ(shifted.use_count(), uses + 1);
}

INSTANTIATE_TEST_SUITE_P(Levels, Linear, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
