#include "kernels/linear/lora_linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/dropout.h"
#include "kernels/linear/linear.h"
#include "support/tensors.h"

namespace weft::kernels {
namespace {

at::Tensor low_rank_values(at::IntArrayRef shape, double phase, at::ScalarType type = at::kFloat) {
  return (at::arange(c10::multiply_integers(shape), at::kDouble) * 12.9898 + phase)
      .sin()
      .view(shape)
      .to(type)
      .requires_grad_(true);
}

/// A layer with two LoRA products, on columns 0 to 3 and 4 to 9.
struct Layer {
  explicit Layer(at::ScalarType type = at::kFloat, double dropout = 0)
      : x(low_rank_values({7, 5}, 0.1, type)),
        weight(low_rank_values({9, 5}, 0.2, type)),
        bias(low_rank_values({9}, 0.3, type)),
        added({{.a = low_rank_values({2, 5}, 0.4, type),
                .b = low_rank_values({3, 2}, 0.5, type),
                .first = 0,
                .scale = 1.5,
                .dropout = dropout,
                .rng_key = {.seed = 3, .step = 2, .site = 11}},
               {.a = low_rank_values({3, 5}, 0.6, type),
                .b = low_rank_values({5, 3}, 0.7, type),
                .first = 4,
                .scale = 0.25,
                .dropout = dropout,
                .rng_key = {.seed = 3, .step = 2, .site = 12}}}) {}

  /// Equation 3 of the paper, product by product.
  at::Tensor written_out() const {
    auto y = at::linear(x, weight, bias);
    for (const auto& item : added) {
      const auto product =
          item.scale *
          at::linear(at::linear(dropout(x, item.dropout, item.rng_key), item.a), item.b);
      const auto before = at::zeros({x.size(0), item.first}, y.options());
      const auto after = at::zeros({x.size(0), 9 - item.first - item.b.size(0)}, y.options());
      y = y + at::cat({before, product, after}, 1);
    }
    return y;
  }

  std::vector<at::Tensor> gradients(const at::Tensor& y) {
    std::vector<at::Tensor> inputs = {x, weight, bias};
    for (const auto& item : added) {
      inputs.push_back(item.a);
      inputs.push_back(item.b);
    }
    for (auto& input : inputs) {
      input.mutable_grad() = at::Tensor();
    }
    (y * low_rank_values({7, 9}, 0.9, y.scalar_type()).detach()).sum().backward();
    std::vector<at::Tensor> result;
    for (const auto& input : inputs) {
      result.push_back(input.grad().clone());
    }
    return result;
  }

  at::Tensor x, weight, bias;
  std::vector<LoraUpdate> added;
};

void expect_equal(Layer layer, double tolerance) {
  const auto found = linear(layer.x, layer.weight, layer.bias, layer.added);
  const auto expected = layer.written_out();
  EXPECT_TRUE(test::near(found, expected, tolerance));
  const auto found_gradients = layer.gradients(found);
  const auto expected_gradients = layer.gradients(expected);
  for (std::size_t i = 0; i < found_gradients.size(); ++i) {
    EXPECT_TRUE(test::near(found_gradients[i], expected_gradients[i], tolerance)) << i;
  }
}

TEST(LoraUpdate, EqualsExplicitProducts) {
  expect_equal(Layer(at::kDouble), 1e-12);
  expect_equal(Layer(at::kFloat), 1e-5);
}

TEST(LoraUpdate, DropsTheInputOfEachProductIndependently) {
  const Layer layer(at::kFloat, 0.4);
  expect_equal(layer, 1e-5);
  auto alike = layer.added;
  alike[1].rng_key = alike[0].rng_key;
  EXPECT_FALSE(test::near(linear(layer.x, layer.weight, layer.bias, layer.added),
                          linear(layer.x, layer.weight, layer.bias, alike)));
}

TEST(LoraUpdate, FrozenMatricesHaveNoGradient) {
  Layer layer;
  layer.weight.set_requires_grad(false);
  layer.bias.set_requires_grad(false);
  layer.x.set_requires_grad(false);
  linear(layer.x, layer.weight, layer.bias, layer.added).sum().backward();
  EXPECT_FALSE(layer.weight.grad().defined());
  EXPECT_FALSE(layer.bias.grad().defined());
  EXPECT_FALSE(layer.x.grad().defined());
  EXPECT_TRUE(layer.added[0].a.grad().defined());
  EXPECT_TRUE(layer.added[1].b.grad().defined());
}

TEST(LoraUpdate, WorksWithoutBias) {
  const Layer layer;
  const auto none = linear(layer.x, layer.weight, {}, layer.added);
  const auto all = linear(layer.x, layer.weight, layer.bias, layer.added);
  EXPECT_TRUE(test::near(none + layer.bias, all));
  none.sum().backward();
  EXPECT_TRUE(layer.weight.grad().defined());
}

TEST(LoraUpdate, RefusesMatricesThatDoNotFit) {
  Layer layer;
  layer.added[1].first = 5;
  EXPECT_THROW(linear(layer.x, layer.weight, layer.bias, layer.added), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
