#include "kernels/linear/quantized_linear.h"

#include <limits>

#include "kernels/compare.h"

namespace weft::kernels {
namespace {

class QuantizedLinear : public comparison::EveryVariant {};

/// The same in double, from the definition.
at::Tensor expected(const at::Tensor& x, const QuantizedWeight& weight) {
  const auto wide = x.to(at::kDouble);
  const auto scales = wide.abs().amax({1}, true).div(127.0).clamp_min(1e-30);
  const auto rows = wide.div(scales).round();
  const auto sums = rows.mm(quantized_values(weight).to(at::kDouble).t());
  const auto products = sums * scales * weight.scales.to(at::kDouble);
  return weight.bias.defined() ? products + weight.bias.to(at::kDouble) : products;
}

double largest_error(const at::Tensor& found, const at::Tensor& wanted) {
  return (found.to(at::kDouble) - wanted).abs().max().item<double>();
}

TEST_P(QuantizedLinear, EqualsItsDefinition) {
  at::manual_seed(1);
  for (const int64_t rows : {1, 5, 300}) {
    for (const int64_t width : {3, 20, 64}) {
      const auto x = at::randn({rows, width}).to(type());
      const auto weight = quantized(at::randn({37, width}), at::randn({37}));
      const auto out = quantized_linear(x, weight);
      ASSERT_EQ(out.scalar_type(), type());
      // A number halfway between two integers may go to either.
      const auto wanted = expected(x, weight);
      const double unit = type() == at::kFloat ? 0.06 : 0.12;
      EXPECT_LT(largest_error(out, wanted), unit) << rows << " x " << width;
      EXPECT_LT((out.to(at::kDouble) - wanted).abs().mean().item<double>(),
                type() == at::kFloat ? 1e-3 : 2e-2);
    }
  }
}

TEST_P(QuantizedLinear, AnActivationComesFirst) {
  at::manual_seed(2);
  for (const int64_t width : {3, 64, 100}) {
    const auto weight = quantized(at::randn({37, width}), at::randn({37}));
    for (const int64_t rows : {1, 300}) {
      const auto x = at::randn({rows, width}).to(type());
      for (const auto activation : {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                    Activation::kSilu, Activation::kTanh}) {
        const auto found = quantized_linear(x, weight, activation);
        EXPECT_TRUE(at::equal(found, quantized_linear(activate(x, activation), weight)))
            << rows << " x " << width << ", activation " << static_cast<int>(activation);
        EXPECT_FALSE(at::equal(found, quantized_linear(x, weight)));
      }
    }
  }
}

/// Integers from -127 to 127 with scale 1.
at::Tensor integers(int64_t rows, int64_t columns) {
  const auto result = at::randint(-127, 128, {rows, columns}, at::kFloat);
  result.select(1, columns - 1).fill_(-127);
  return result;
}

TEST_P(QuantizedLinear, SumsOfIntegersAreExact) {
  at::manual_seed(6);
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 50}) {
    for (const int64_t depth : {1, 2, 3, 4, 5, 18, 67}) {
      const auto x = integers(rows, depth);
      const auto w = integers(130, depth);
      const auto wanted = x.mm(w.t()).to(type());
      for (const int64_t outputs : {1, 63, 65, 130}) {
        const auto out = quantized_linear(x.to(type()), quantized(w.slice(0, 0, outputs), {}));
        EXPECT_TRUE(at::equal(out, wanted.slice(1, 0, outputs)))
            << rows << " x " << depth << " x " << outputs;
      }
    }
  }
}

TEST_P(QuantizedLinear, IsCloseToTheFullPrecisionProduct) {
  at::manual_seed(2);
  const auto x = at::randn({200, 256}).to(type());
  const auto w = at::randn({64, 256}) / 16;
  const auto bias = at::randn({64});
  const auto out = quantized_linear(x, quantized(w, bias)).to(at::kFloat);
  const auto wanted = at::linear(x.to(at::kFloat), w, bias);
  EXPECT_LT((out - wanted).norm().item<double>() / wanted.norm().item<double>(), 0.015);
  const auto without = quantized_linear(x, quantized(w, {})).to(at::kFloat);
  EXPECT_LT((without + bias - out).abs().max().item<double>(), 0.05);
}

TEST_P(QuantizedLinear, ARowKeepsItsBitsWhateverTheOthersAre) {
  at::manual_seed(3);
  const auto weight = quantized(at::randn({96, 64}), at::randn({96}));
  const auto x = at::randn({290, 64}).to(type());
  const auto together = quantized_linear(x, weight);
  for (const int64_t row : {0, 127, 128, 289}) {
    const auto alone = quantized_linear(x.slice(0, row, row + 1), weight);
    EXPECT_TRUE(at::equal(alone[0], together[row])) << row;
  }
  EXPECT_EQ(quantized_linear(x.slice(0, 0, 0), weight).size(0), 0);
}

TEST_P(QuantizedLinear, RowsOfZerosGiveTheBiasAndFaultsStayFaults) {
  const auto weight = quantized(at::ones({4, 8}), at::arange(4, at::kFloat));
  const auto x = at::zeros({3, 8}, type());
  x[1][5].fill_(std::numeric_limits<double>::quiet_NaN());
  x[2][0].fill_(std::numeric_limits<double>::infinity());
  const auto out = quantized_linear(x, weight).to(at::kFloat);
  EXPECT_TRUE(at::equal(out[0], at::arange(4, at::kFloat)));
  EXPECT_TRUE(out[1].isnan().all().item<bool>());
  EXPECT_TRUE(out[2].isnan().all().item<bool>());
}

TEST_P(QuantizedLinear, TheLargestNumbersDoNotOverflow) {
  const auto weight = quantized(at::ones({64, 384}), {});
  const auto out = quantized_linear(at::ones({32, 384}, type()), weight).to(at::kFloat);
  EXPECT_TRUE(at::allclose(out, at::full_like(out, 384.0), 1e-2));
  EXPECT_EQ(quantized_values(weight).max().item<int64_t>(), 127);
}

TEST(QuantizedWeight, EachOutputHasItsOwnScaleAndZeroStaysZero) {
  const auto weight = at::tensor({1.0F, -0.5F, 0.0F, 100.0F, 0.0F, 25.0F, 0.0F, 0.0F, 0.0F});
  const auto found = quantized(weight.view({3, 3}), {});
  EXPECT_NEAR(found.scales[0].item<float>(), 1.0F / 127, 1e-7);
  EXPECT_NEAR(found.scales[1].item<float>(), 100.0F / 127, 1e-5);
  const auto values = quantized_values(found);
  EXPECT_EQ(values[0][2].item<int64_t>(), 0);
  EXPECT_TRUE(values[2].eq(0).all().item<bool>());
  EXPECT_EQ(values[0][0].item<int64_t>(), 127);
}

TEST_P(QuantizedLinear, SelectedOutputsAreThoseOfTheWhole) {
  for (const int64_t depth : {1, 8, 33}) {
    const auto weight = quantized(at::randn({100, depth}), at::randn({100}));
    const auto outputs = at::tensor({99, 0, 31, 32, 64, 0});
    const auto x = at::randn({30, depth}).to(type());
    EXPECT_TRUE(at::equal(quantized_linear(x, select_outputs(weight, outputs)),
                          quantized_linear(x, weight).index_select(1, outputs)));
  }
}

TEST_P(QuantizedLinear, BitsDoNotDependOnTheNumberOfThreads) {
  for (const int64_t rows : {1, 7, 50, 200}) {
    const auto weight = quantized(at::randn({300, 514}), at::randn({300}));
    const auto x = at::randn({rows, 514}).to(type());
    const auto once = [&] { return std::vector<at::Tensor>{quantized_linear(x, weight)}; };
    const auto alone = comparison::with_threads(1, once);
    for (const int threads : {2, 5}) {
      EXPECT_TRUE(comparison::same_bits(alone, comparison::with_threads(threads, once))) << rows;
    }
  }
}

TEST(QuantizedWeight, RefusesWhatNeedsAGradient) {
  const auto weight = quantized(at::randn({4, 8}), {});
  EXPECT_THROW(quantized_linear(at::randn({2, 8}).requires_grad_(true), weight), c10::Error);
  EXPECT_THROW(quantized_linear(at::randn({2, 7}), weight), c10::Error);
}

INSTANTIATE_TEST_SUITE_P(Levels, QuantizedLinear, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
