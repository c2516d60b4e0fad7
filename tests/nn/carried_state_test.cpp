#include "nn/carried_state.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace weft::nn {
namespace {

TEST(CarriedState, BecomesVisibleWithCommit) {
  CarriedState state;
  EXPECT_FALSE(state.get(3, "memory").defined());
  state.set(3, "memory", at::ones({2}));
  EXPECT_FALSE(state.get(3, "memory").defined()) << "of a step that is not committed";
  state.commit();
  EXPECT_TRUE(at::equal(state.get(3, "memory"), at::ones({2})));
  EXPECT_FALSE(state.get(4, "memory").defined()) << "of another stream";
}

TEST(CarriedState, ADiscardedStepLeavesItUnchanged) {
  CarriedState state;
  state.set(0, "h", at::ones({2}));
  state.commit();
  state.set(0, "h", at::zeros({2}));
  state.discard();
  state.commit();
  EXPECT_TRUE(at::equal(state.get(0, "h"), at::ones({2})));
}

TEST(CarriedState, AStreamThatAStepDoesNotContinueHasEnded) {
  CarriedState state;
  state.set(0, "h", at::ones({2}));
  state.set(1, "h", at::ones({2}));
  state.commit();
  state.set(1, "h", at::zeros({2}));
  state.commit();
  EXPECT_FALSE(state.get(0, "h").defined());
  EXPECT_TRUE(at::equal(state.get(1, "h"), at::zeros({2})));
}

TEST(CarriedState, IsDetached) {
  CarriedState state;
  state.set(0, "h", at::ones({2}).requires_grad_() * 2);
  state.commit();
  EXPECT_FALSE(state.get(0, "h").requires_grad());
}

TEST(CarriedState, IsSavedAndRestored) {
  CarriedState state;
  state.set(12, "layers.0/memory", at::arange(3));
  state.set(0, "h", at::ones({2}));
  state.commit();
  CarriedState restored;
  restored.set(5, "h", at::zeros({1}));
  restored.commit();
  restored.load(state.tensors(), at::kCPU);
  EXPECT_TRUE(at::equal(restored.get(12, "layers.0/memory"), at::arange(3)));
  EXPECT_TRUE(at::equal(restored.get(0, "h"), at::ones({2})));
  EXPECT_FALSE(restored.get(5, "h").defined());
  EXPECT_THROW(restored.load({{"memory", at::ones({1})}}, at::kCPU), c10::Error);
  EXPECT_THROW(restored.load({{"1x/memory", at::ones({1})}}, at::kCPU), c10::Error);
}

}  // namespace
}  // namespace weft::nn
