#include "nn/pooler.h"

#include <cmath>

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace weft::nn {
namespace {

TEST(Pooler, IsTanhOfTheFirstToken) {
  PoolerImpl pooler(2);
  test::set_parameters(pooler,
                       {{"dense.weight", at::eye(2)}, {"dense.bias", at::tensor({0.0F, 1.0F})}});
  const auto hidden =
      at::arange(10, at::kFloat).view({5, 2}) / 10;  // rows begin with 0, 0.2, 0.4, ...
  const auto layout = kernels::Layout::from_offsets({0, 3, 5}, at::kCPU);
  const auto expected =
      at::tensor({std::tanh(0.0), std::tanh(1.1), std::tanh(0.6), std::tanh(1.7)}).view({2, 2});
  EXPECT_TRUE(test::near(pooler.forward(first_tokens(hidden, layout)), expected));
}

}  // namespace
}  // namespace weft::nn
