#include "nn/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "nn/attention/attention_recorder.h"
#include "nn/linear.h"
#include "nn/stack.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kRecomputeDim = 8;

at::Tensor recompute_input(int64_t tokens) {
  return at::arange(tokens * kRecomputeDim, at::kFloat)
      .view({tokens, kRecomputeDim})
      .mul(0.7)
      .sin();
}

/// A layer that counts how often it is run.
struct Counted {
  Counted() { test::fill_parameters(linear); }
  at::Tensor run(const at::Tensor& x) {
    return recompute(x, linear, [this](const at::Tensor& y) {
      ++runs;
      return linear.forward(y).tanh();
    });
  }
  LinearImpl linear{LinearOptions{kRecomputeDim, kRecomputeDim}};
  int runs = 0;
};

TEST(Recompute, RunsOnceMoreInBackward) {
  Counted layer;
  const auto y = layer.run(recompute_input(3)).sum();
  EXPECT_EQ(layer.runs, 1);
  y.backward();
  EXPECT_EQ(layer.runs, 2);
}

TEST(Recompute, FrozenModelsHaveNoBackward) {
  Counted layer;
  for (auto& item : layer.linear.named_parameters()) {
    item.value().set_requires_grad(false);
  }
  EXPECT_FALSE(layer.run(recompute_input(3)).requires_grad());
  auto x = recompute_input(3);
  x.set_requires_grad(true);  // the gradient passes through to the layers below
  layer.run(x).sum().backward();
  const auto through = x.grad().clone();
  x.mutable_grad().reset();
  layer.linear.forward(x).tanh().sum().backward();
  EXPECT_TRUE(at::equal(through, x.grad()));
}

TEST(Recompute, InputWithoutGradientStillGivesParameterGradients) {
  Counted layer;
  const auto x = recompute_input(3);
  layer.run(x).sum().backward();
  const auto parameters = layer.linear.named_parameters();
  const auto found = parameters["weight"].grad().clone();
  test::clear_gradients(layer.linear);
  layer.linear.forward(x).tanh().sum().backward();
  EXPECT_TRUE(at::equal(found, parameters["weight"].grad()));
}

TEST(Recompute, APassThatIsWatchedOrHasNoGradientsIsRunPlainly) {
  StackImpl stack({.layers = {{.attention = {.dim = kRecomputeDim, .heads = 2},
                               .feed_forward = {.dim = kRecomputeDim, .width = 12},
                               .norm = {.dim = kRecomputeDim, .epsilon = 1e-5}}}});
  test::fill_parameters(stack);
  ForwardContext context;
  context.layout = kernels::Layout::from_offsets({0, 3}, at::kCPU);
  context.recomputes_layers = true;
  const auto name = [&] { return stack.forward(recompute_input(3), context).grad_fn()->name(); };
  EXPECT_NE(name().find("Recompute"), std::string::npos);
  AttentionRecorder recorder({0});
  context.attention_recorder = &recorder;
  EXPECT_EQ(name().find("Recompute"), std::string::npos);
  EXPECT_EQ(recorder.layers().size(), 1);
  context.attention_recorder = nullptr;
  const at::NoGradGuard guard;
  EXPECT_FALSE(stack.forward(recompute_input(3), context).requires_grad());
}

}  // namespace
}  // namespace weft::nn
