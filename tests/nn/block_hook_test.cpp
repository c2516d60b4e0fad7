#include "nn/block_hook.h"

#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/string_util.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kHookDim = 8;

Stack two_layers() {
  const BlockOptions block{.attention = {.dim = kHookDim, .heads = 2},
                           .feed_forward = {.dim = kHookDim, .width = 12},
                           .norm = {.dim = kHookDim}};
  Stack stack(StackOptions{.layers = {block, block}});
  test::fill_parameters(*stack);
  return stack;
}

/// Records `f0` for the beginning of a forward pass of block 0, `F0` for its end, `b0` and `B0` for
/// the backward pass.
class RecordingHook : public BlockHook {
 public:
  explicit RecordingHook(const Stack& stack) {
    for (const auto& item : stack->named_children()) {
      blocks_.push_back(dynamic_cast<const Block*>(item.value().get()));
    }
  }
  std::string take() { return join(std::exchange(events_, {}), " "); }

 private:
  void before_forward(const Block& block) override { add("f", block); }
  void after_forward(const Block& block) override { add("F", block); }
  void before_backward(const Block& block) override { add("b", block); }
  void after_backward(const Block& block) override { add("B", block); }
  void add(const std::string& event, const Block& block) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i] == &block) {
        events_.push_back(event + std::to_string(i));
      }
    }
  }

  std::vector<const Block*> blocks_;
  std::vector<std::string> events_;
};

std::string events_of(bool recomputes_layers, bool input_has_gradient) {
  auto stack = two_layers();
  RecordingHook hook(stack);
  auto context = test::context_of({0, 3, 5});
  context.recomputes_layers = recomputes_layers;
  auto x = at::arange(5 * kHookDim, at::kFloat).view({5, kHookDim}).sin();
  x.set_requires_grad(input_has_gradient);
  const auto y = stack->forward(x * 1, context);
  y.sum().backward();
  return hook.take();
}

TEST(BlockHook, SeesForwardAndBackwardPasses) {
  EXPECT_EQ(events_of(false, true), "f0 F0 f1 F1 b1 b0 B1 B0");
}

TEST(BlockHook, DoesNotSeeTheEndOfABackwardPassWhoseInputHasNoGradient) {
  EXPECT_EQ(events_of(false, false), "f0 F0 f1 F1 b1 b0 B1");
}

TEST(BlockHook, SeesRepeatedForwardPasses) {
  EXPECT_EQ(events_of(true, true), "f0 F0 f1 F1 f1 F1 b1 B1 f0 F0 b0 B0");
}

TEST(BlockHook, SeesInference) {
  const at::NoGradGuard no_grad;
  auto stack = two_layers();
  RecordingHook hook(stack);
  stack->forward(at::ones({5, kHookDim}), test::context_of({0, 3, 5}));
  EXPECT_EQ(hook.take(), "f0 F0 f1 F1");
}

TEST(BlockHook, AThreadHasOne) {
  const auto stack = two_layers();
  {
    const RecordingHook hook(stack);
    EXPECT_EQ(BlockHook::current(), &hook);
    EXPECT_THROW(RecordingHook{stack}, c10::Error);
  }
  EXPECT_EQ(BlockHook::current(), nullptr);
}

}  // namespace
}  // namespace weft::nn
