// The state that a recurrent layer keeps in generation and from step to step.
#include <string>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "nn/block.h"
#include "nn/carried_state.h"
#include "nn/decoding_state.h"
#include "nn/recurrent/recurrent_layers.h"
#include "nn/stack.h"
#include "support/context.h"

namespace weft::nn {
namespace {

/// A stack of this order with recurrent layers.
Stack recurrent_stack(const std::string& order, const std::string& cell) {
  BlockOptions block{
      .order = order,
      .attention = {.dim = kRecurrentDim, .heads = 1, .is_causal = true, .rotary = {.theta = 50}},
      .feed_forward = {.dim = kRecurrentDim, .width = 8},
      .norm = {.dim = kRecurrentDim},
      .norm_placement = NormPlacement::kPre};
  block.make_sublayer["recurrent"] = [cell](const BlockOptions& options) {
    return std::make_shared<Recurrent>(RecurrentOptions{.dim = options.dim(),
                                                        .width = kStateWidth,
                                                        .layer = options.layer,
                                                        .make_cell = cell_maker(cell)});
  };
  Stack stack(StackOptions{.layers = {block, block}, .norm = block.norm});
  test::fill_parameters(*stack);
  return stack;
}

class ContinuedCells : public ::testing::TestWithParam<std::string> {};

// The last sequence ends before the others do; recurrent state is kept with keys and values or
// without.
TEST_P(ContinuedCells, DecodingByTokenEqualsTheWholePass) {
  const at::NoGradGuard no_grad;
  for (const std::string order : {"rf", "raf", "rr"}) {
    auto stack = recurrent_stack(order, GetParam());
    const auto x = recurrent_rows(10);
    const auto expected = stack->forward(x, test::context_of({0, 6, 10}));
    DecodingState state(2);
    ForwardContext context;
    context.decoding_state = &state;
    context.layout = state.begin_step({3, 2}, at::kCPU);
    auto found = stack->forward(at::cat({x.slice(0, 0, 3), x.slice(0, 6, 8)}), context);
    EXPECT_TRUE(test::near(found.slice(0, 0, 3), expected.slice(0, 0, 3))) << order;
    EXPECT_TRUE(test::near(found.slice(0, 3), expected.slice(0, 6, 8))) << order;
    for (int64_t i = 0; i < 2; ++i) {
      context.layout = state.begin_step({1, 1}, at::kCPU);
      found = stack->forward(at::stack({x[3 + i], x[8 + i]}), context);
      EXPECT_TRUE(test::near(found[0], expected[3 + i])) << order << i;
      EXPECT_TRUE(test::near(found[1], expected[8 + i])) << order << i;
    }
  }
}

TEST_P(ContinuedCells, ASequenceWithoutNewTokensKeepsItsState) {
  const at::NoGradGuard no_grad;
  const auto layer = filled(GetParam());
  const auto x = recurrent_rows(6);
  const auto expected = layer->forward(x, test::context_of({0, 4, 6}));
  DecodingState state(2);
  ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({2, 1}, at::kCPU);
  layer->forward(at::cat({x.slice(0, 0, 2), x.slice(0, 4, 5)}), context);
  context.layout = state.begin_step({2, 0}, at::kCPU);
  layer->forward(x.slice(0, 2, 4), context);
  context.layout = state.begin_step({0, 1}, at::kCPU);
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 5), context)[0], expected[5]));
}

TEST_P(ContinuedCells, ReorderedSequencesContinueAsTheirParents) {
  const at::NoGradGuard no_grad;
  auto stack = recurrent_stack("raf", GetParam());
  const auto x = recurrent_rows(4);
  const auto last = recurrent_rows(3).cos();
  const auto expected =
      stack->forward(at::cat({x.slice(0, 2), last.slice(0, 0, 1), x.slice(0, 2),
                              last.slice(0, 1, 2), x.slice(0, 0, 2), last.slice(0, 2)}),
                     test::context_of({0, 3, 6, 9}));
  DecodingState state(2);
  ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({2, 2}, at::kCPU);
  stack->forward(x, context);
  state.reorder({1, 1, 0});
  context.layout = state.begin_step({1, 1, 1}, at::kCPU);
  const auto found = stack->forward(last, context);
  for (int64_t b = 0; b < 3; ++b) {
    EXPECT_TRUE(test::near(found[b], expected[3 * b + 2])) << b;
  }
}

TEST_P(ContinuedCells, AStreamContinuesInTheNextStep) {
  const auto layer = filled(GetParam());
  const auto x = recurrent_rows(6);
  const auto expected = layer->forward(x, test::context_of({0, 6}));
  CarriedState carried;
  auto context = test::context_of({0, 4, 6});
  context.carried_state = &carried;
  context.streams = {7, 8};
  layer->forward(at::cat({x.slice(0, 0, 4), recurrent_rows(2)}), context);
  carried.commit();
  context.layout = kernels::Layout::from_offsets({0, 2}, at::kCPU);
  context.streams = {7};
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 4), context), expected.slice(0, 4), 1e-6));
  context.streams = {9};  // begins here
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 0, 2), context), expected.slice(0, 0, 2), 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Of,
                         ContinuedCells,
                         ::testing::Values("{cell: gru}",
                                           "{cell: gru, reset: before}",
                                           "{cell: lstm}",
                                           "{cell: lstm, projection: 3}",
                                           "{cell: lstm, projection: 3, cell_clip: 0.2, "
                                           "projection_clip: 0.05}",
                                           "{cell: rnn}"));

}  // namespace
}  // namespace weft::nn
