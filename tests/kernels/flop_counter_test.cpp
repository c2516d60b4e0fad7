#include "kernels/flop_counter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/attention/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/linear/lora_linear.h"
#include "kernels/linear/product.h"
#include "kernels/linear/quantized_linear.h"

namespace weft::kernels {
namespace {

at::Tensor trained(at::IntArrayRef sizes) { return at::ones(sizes).requires_grad_(); }

TEST(FlopCounter, CountsLinearLayersForwardAndBackward) {
  const auto x = trained({5, 4});
  const auto weight = trained({3, 4});
  const FlopCounter counter;
  const auto y = linear(x, weight, at::Tensor());
  EXPECT_EQ(counter.flops(), 2 * 5 * 4 * 3);
  y.sum().backward();  // for the input and for the weight
  EXPECT_EQ(counter.flops(), 3 * 2 * 5 * 4 * 3);
  const std::map<ProductShape, int64_t> expected = {
      {{.rows = 5, .depth = 4, .columns = 3, .right_is_transposed = true}, 1},
      {{.rows = 5, .depth = 3, .columns = 4}, 1},
      {{.rows = 3, .depth = 5, .columns = 4, .left_is_transposed = true}, 1}};
  EXPECT_EQ(counter.products(), expected);
}

TEST(FlopCounter, CountsOnlyTheGradientsThatAreNeeded) {
  const auto frozen = at::ones({3, 4});
  const auto x = trained({5, 4});
  const FlopCounter counter;
  linear(x, frozen, at::Tensor()).sum().backward();
  EXPECT_EQ(counter.flops(), 2 * 2 * 5 * 4 * 3);
}

TEST(FlopCounter, CountsLoraInRank) {
  const auto x = trained({5, 4});
  const FlopCounter counter;
  linear(x, at::ones({6, 4}), at::Tensor(), {{.a = at::ones({2, 4}), .b = at::ones({6, 2})}});
  EXPECT_EQ(counter.flops(), 2 * (5 * 4 * 6 + 5 * 4 * 2 + 5 * 2 * 6));
}

TEST(FlopCounter, CountsPackedAndQuantizedProducts) {
  const auto x = at::ones({40, 64});
  const auto weight = at::ones({32, 64});
  const auto panels = packed(weight.t());
  const auto integers = quantized(weight, {});
  const FlopCounter counter;
  product(x, panels);
  EXPECT_EQ(counter.flops(), 2 * 40 * 64 * 32);
  quantized_linear(x, integers);
  EXPECT_EQ(counter.flops(), 2 * 2 * 40 * 64 * 32);
}

TEST(FlopCounter, CountsBatchedProductsWithLibTorchsBackward) {
  const auto a = trained({2, 3, 4});
  const FlopCounter counter;
  batched_product(a, at::ones({2, 4, 5})).sum().backward();  // one gradient of two
  EXPECT_EQ(counter.flops(), 2 * (2 * 2 * 3 * 4 * 5));
}

TEST(FlopCounter, CountsTheOutputMatrixOfCrossEntropy) {
  const auto x = trained({5, 4});
  const auto weight = trained({7, 4});
  const FlopCounter counter;
  linear_cross_entropy(x, weight, {}, at::zeros({5}, at::kLong)).backward();
  EXPECT_EQ(counter.flops(), 3 * 2 * 5 * 4 * 7);
}

/// Operations of one product over all visible pairs, times 2 forward and 5 backward.
void expect_pairs(const AttentionSettings& settings, int64_t pairs, at::ScalarType type) {
  constexpr int64_t kWidth = 16;
  const auto layout = Layout::from_offsets({0, 4, 6}, at::kCPU);  // 4 and 2 tokens
  const auto qkv =
      at::ones({6, 3 * settings.heads * kWidth}, at::device(at::kCPU).dtype(type)).requires_grad_();
  const FlopCounter counter;
  const auto out = attention(qkv, layout, settings, {});
  EXPECT_EQ(counter.flops(), 2 * 2 * pairs * settings.heads * kWidth) << type;
  out.sum().backward();
  EXPECT_EQ(counter.flops(), 7 * 2 * pairs * settings.heads * kWidth) << type;
}

TEST(FlopCounter, CountsThePairsThatAttentionSees) {
  for (const auto type : {at::kFloat, at::kDouble}) {  // vectorized, and plain LibTorch
    expect_pairs({.heads = 2}, 4 * 4 + 2 * 2, type);
    expect_pairs({.heads = 2, .is_causal = true}, 4 * 5 / 2 + 2 * 3 / 2, type);
    expect_pairs({.heads = 1, .window_radius = 1}, (2 + 3 + 3 + 2) + (2 + 2), type);
    expect_pairs({.heads = 1, .is_causal = true, .window_radius = 1}, (1 + 2 + 2 + 2) + (1 + 2),
                 type);
    // All see the first 3 keys of the first sequence.
    expect_pairs({.heads = 1, .is_causal = true, .prefix_lengths = {3, 0}},
                 (3 + 3 + 3 + 4) + (1 + 2), type);
  }
}

TEST(FlopCounter, CountsNothingOutsideItsLifetime) {
  const auto x = trained({5, 4});
  at::Tensor sum;
  {
    const FlopCounter counter;
    sum = batched_product(trained({2, 3, 4}), at::ones({2, 4, 5})).sum();
    EXPECT_EQ(FlopCounter::current(), &counter);
    EXPECT_THROW(FlopCounter{}, c10::Error);
  }
  EXPECT_EQ(FlopCounter::current(), nullptr);
  sum.backward();
}

}  // namespace
}  // namespace weft::kernels
