#include "nn/linear.h"

#include <gtest/gtest.h>

#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

TEST(Linear, OutputsWithoutABiasHaveNone) {
  Linear layer(LinearOptions{.inputs = 3, .outputs = 7, .unbiased = {.first = 2, .count = 4}});
  test::fill_parameters(*layer);
  const auto parameters = layer->named_parameters();
  ASSERT_EQ(parameters["bias"].size(0), 3);
  const auto x = at::arange(15, at::kFloat).sin().view({5, 3});
  const auto expected_bias = at::zeros({7});
  expected_bias.slice(0, 0, 2).copy_(parameters["bias"].detach().slice(0, 0, 2));
  expected_bias.slice(0, 6).copy_(parameters["bias"].detach().slice(0, 2));
  EXPECT_TRUE(at::equal(layer->bias(), expected_bias));
  const auto expected = at::linear(x, parameters["weight"].detach(), expected_bias);
  const auto y = layer->forward(x);
  EXPECT_TRUE(test::near(y, expected));
  EXPECT_TRUE(test::near(layer->forward_slice(x, 1, 6), expected.slice(1, 1)));
  (y * at::arange(1, 8)).sum().backward();
  EXPECT_TRUE(test::near(parameters["bias"].grad(), 5 * at::tensor({1.0, 2.0, 7.0})));
  const at::NoGradGuard guard;
  layer->quantize();
  EXPECT_TRUE(test::near(layer->forward(x), expected, 0.02));
}

}  // namespace
}  // namespace weft::nn
