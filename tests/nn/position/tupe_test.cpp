#include <string>

#include <gtest/gtest.h>

#include "nn/position/position_types.h"
#include "nn/stack.h"
#include "support/components.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kTupeDim = 8;
constexpr int64_t kTupeLength = 12;

Stack tupe_stack(const std::string& keys, bool is_causal = false) {
  const auto position = test::component(position_types(), "position", "type: tupe" + keys)
                            .make({.dim = kTupeDim,
                                   .hidden_dim = kTupeDim,
                                   .length = kTupeLength,
                                   .heads = 2,
                                   .head_dim = kTupeDim / 2,
                                   .is_causal = is_causal});
  const BlockOptions block{
      .attention = {.dim = kTupeDim, .heads = 2, .is_causal = is_causal, .dropout = 0},
      .feed_forward = {.dim = kTupeDim, .width = 12},
      .norm = {.dim = kTupeDim, .epsilon = 1e-5},
      .dropout = 0};
  return Stack(StackOptions{.layers = {block, block}, .positions = {position}});
}

at::Tensor tupe_tokens(int64_t count) {
  return at::arange(count * kTupeDim, at::kFloat).mul(1.7).sin().view({count, kTupeDim});
}

/// Without scores of positions the order of the tokens does not count.
TEST(TupePositions, OfZeroKnowNoOrder) {
  auto stack = tupe_stack("");
  test::fill_parameters(*stack, 1);
  const auto x = tupe_tokens(7);
  const auto context = test::context_of({0, 7});
  const auto turned = [&] { return stack->forward(x.flip(0), context).flip(0); };
  EXPECT_FALSE(test::near(turned(), stack->forward(x, context), 1e-3));
  {
    const at::NoGradGuard guard;
    for (auto& parameter : stack->named_parameters()) {
      if (parameter.key().starts_with("shared_positions.")) {
        parameter.value().zero_();
      }
    }
  }
  EXPECT_TRUE(test::near(turned(), stack->forward(x, context), 1e-5));
}

/// arXiv:2006.15595, equation 12.
TEST(TupePositions, MayTreatTheFirstTokenAsAnyOther) {
  const std::string keys = ", relative: false";
  auto untied = tupe_stack(keys);
  auto tied = tupe_stack(keys + ", untie_cls: false");
  test::fill_parameters(*untied);
  const auto scores = [](Stack& stack) {
    return stack->with_shared_scores(test::context_of({0, 5}), at::kCPU)
        .position_tensors.at("tupe");
  };
  {
    const at::NoGradGuard guard;
    for (auto& parameter : tied->named_parameters()) {
      parameter.value().copy_(untied->named_parameters()[parameter.key()]);
    }
  }
  const auto found = scores(untied);
  EXPECT_TRUE(test::near(found.slice(1, 1).slice(2, 1), scores(tied).slice(1, 1).slice(2, 1)));
  const auto first = untied->named_parameters()["shared_positions.first"];
  EXPECT_TRUE(test::near(found.select(1, 0), first[0].unsqueeze(1).expand({2, 5})));
  EXPECT_TRUE(test::near(found.select(2, 0).slice(1, 1), first[1].unsqueeze(1).expand({2, 4})));
  EXPECT_FALSE(test::near(found.select(1, 0), scores(tied).select(1, 0), 1e-3));
}

TEST(TupePositions, EndWithTheTable) {
  auto stack = tupe_stack("");
  test::fill_parameters(*stack);
  EXPECT_NO_THROW(stack->forward(tupe_tokens(12), test::context_of({0, 12})));
  EXPECT_THROW(stack->forward(tupe_tokens(13), test::context_of({0, 13})), c10::Error);
}

TEST(TupePositions, RefuseKeysWithoutEffect) {
  auto section = test::section("model.position", {{"relative", "false"}, {"num_buckets", "8"}});
  EXPECT_EQ(test::message_of<config::Error>([&] { read_tupe_position(section); }),
            "test.yaml:1:50: model.position.num_buckets: has no effect with relative: false");
}

}  // namespace
}  // namespace weft::nn
