#include "nn/gru.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/rnn.h>

#include "nn/carried_state.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kGruDim = 8;
constexpr int64_t kGruWidth = 5;

at::Tensor gru_rows(int64_t count) {
  return at::arange(count * kGruDim, at::kFloat).view({count, kGruDim}).mul(0.7).sin();
}

std::shared_ptr<Gru> filled_gru() {
  const auto gru =
      std::make_shared<Gru>(GruOptions{.dim = kGruDim, .width = kGruWidth, .layer = 0});
  test::fill_parameters(*gru);
  return gru;
}

/// The same weights in LibTorch's module.
torch::nn::GRU libtorch_gru(const Gru& gru) {
  torch::nn::GRU expected(torch::nn::GRUOptions(kGruDim, kGruWidth).batch_first(true));
  const auto own = gru.named_parameters();
  test::set_parameters(*expected, {{"weight_ih_l0", own["input.weight"]},
                                   {"bias_ih_l0", own["input.bias"]},
                                   {"weight_hh_l0", own["hidden.weight"]},
                                   {"bias_hh_l0", own["hidden.bias"]}});
  return expected;
}

// Sequences of different lengths, also equal ones and an empty one, that are not sorted.
TEST(Gru, EqualsTheOneOfLibtorchForEachSequence) {
  const auto gru = filled_gru();
  auto reference = libtorch_gru(*gru);
  const auto own = gru->named_parameters();
  const std::vector<int64_t> offsets{0, 2, 7, 7, 8, 13, 17};
  auto x = gru_rows(17).requires_grad_();
  auto y = gru_rows(17).requires_grad_();
  const auto found = gru->forward(x, test::context_of(offsets));
  std::vector<at::Tensor> sequences;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    if (offsets[b + 1] > offsets[b]) {
      const auto sequence = y.slice(0, offsets[b], offsets[b + 1]).unsqueeze(0);
      sequences.push_back(std::get<0>(reference->forward(sequence)).squeeze(0));
    }
  }
  const auto output_weight = own["output.weight"].detach().clone().requires_grad_();
  const auto expected = at::linear(at::cat(sequences), output_weight, own["output.bias"].detach());
  EXPECT_TRUE(test::near(found, expected, 1e-6));
  const auto weights = gru_rows(17).cos();
  (found * weights).sum().backward();
  (expected * weights).sum().backward();
  EXPECT_TRUE(test::near(x.grad(), y.grad()));
  EXPECT_TRUE(test::near(own["output.weight"].grad(), output_weight.grad()));
  const auto theirs = reference->named_parameters();
  EXPECT_TRUE(test::near(own["input.weight"].grad(), theirs["weight_ih_l0"].grad()));
  EXPECT_TRUE(test::near(own["input.bias"].grad(), theirs["bias_ih_l0"].grad()));
  EXPECT_TRUE(test::near(own["hidden.weight"].grad(), theirs["weight_hh_l0"].grad()));
  EXPECT_TRUE(test::near(own["hidden.bias"].grad(), theirs["bias_hh_l0"].grad()));
}

TEST(Gru, SelectedRowsAreThoseOfTheWholePass) {
  const auto gru = filled_gru();
  const auto context = test::context_of({0, 2, 7});
  const auto selection = RowSelection::from_rows({1, 3, 6}, context, 0);
  EXPECT_TRUE(test::near(gru->forward_selected(gru_rows(7), context, selection),
                         selection.select(gru->forward(gru_rows(7), context)), 1e-6));
}

/// A stack of this order whose recurrent sub-layers are GRUs.
Stack recurrent_stack(const std::string& order) {
  BlockOptions block{
      .order = order,
      .attention = {.dim = kGruDim, .heads = 1, .is_causal = true, .rotary = {.theta = 50}},
      .feed_forward = {.dim = kGruDim, .width = 8},
      .norm = {.dim = kGruDim},
      .norm_placement = NormPlacement::kPre};
  block.make_sublayer["recurrent"] = [](const BlockOptions& options) {
    return std::make_shared<Gru>(
        GruOptions{.dim = options.dim(), .width = kGruWidth, .layer = options.layer});
  };
  Stack stack(StackOptions{.layers = {block, block}, .norm = block.norm});
  test::fill_parameters(*stack);
  return stack;
}

// The last sequence ends before the others do; recurrent state is kept with keys and values or
// without.
TEST(Gru, DecodingByTokenEqualsTheWholePass) {
  const at::NoGradGuard no_grad;
  for (const std::string order : {"rf", "raf", "rr"}) {
    auto stack = recurrent_stack(order);
    const auto x = gru_rows(10);
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

TEST(Gru, ASequenceWithoutNewTokensKeepsItsState) {
  const at::NoGradGuard no_grad;
  const auto gru = filled_gru();
  const auto x = gru_rows(6);
  const auto expected = gru->forward(x, test::context_of({0, 4, 6}));
  DecodingState state(2);
  ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({2, 1}, at::kCPU);
  gru->forward(at::cat({x.slice(0, 0, 2), x.slice(0, 4, 5)}), context);
  context.layout = state.begin_step({2, 0}, at::kCPU);
  gru->forward(x.slice(0, 2, 4), context);
  context.layout = state.begin_step({0, 1}, at::kCPU);
  EXPECT_TRUE(test::near(gru->forward(x.slice(0, 5), context)[0], expected[5]));
}

TEST(Gru, ReorderedSequencesContinueAsTheirParents) {
  const at::NoGradGuard no_grad;
  auto stack = recurrent_stack("raf");
  const auto x = gru_rows(4);
  const auto last = gru_rows(3).cos();
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

TEST(Gru, AStreamGoesOnInTheNextStep) {
  const auto gru = filled_gru();
  const auto x = gru_rows(6);
  const auto expected = gru->forward(x, test::context_of({0, 6}));
  CarriedState carried;
  auto context = test::context_of({0, 4, 6});
  context.carried_state = &carried;
  context.streams = {7, 8};
  gru->forward(at::cat({x.slice(0, 0, 4), gru_rows(2)}), context);
  carried.commit();
  context.layout = kernels::Layout::from_offsets({0, 2}, at::kCPU);
  context.streams = {7};
  EXPECT_TRUE(test::near(gru->forward(x.slice(0, 4), context), expected.slice(0, 4), 1e-6));
  context.streams = {9};  // begins here
  EXPECT_TRUE(test::near(gru->forward(x.slice(0, 0, 2), context), expected.slice(0, 0, 2), 1e-6));
}

}  // namespace
}  // namespace weft::nn
