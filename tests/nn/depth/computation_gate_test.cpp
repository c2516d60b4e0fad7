#include "nn/depth/computation_gate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/flop_counter.h"
#include "nn/auxiliary_losses.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/config.h"
#include "support/context.h"
#include "support/gradients.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kGateDim = 16;

ComputationGateOptions gate_options(std::vector<double> budgets = {0.5}) {
  const auto budget = budgets.front();
  return {.hidden = 8, .noise = 1, .warmup = 10, .budgets = std::move(budgets), .budget = budget};
}

struct GatedStack {
  NormPlacement place = NormPlacement::kPre;
  bool is_causal = false;
  bool is_gated = true;
  std::string order = "af";
  std::size_t layers = 2;
  std::vector<double> budgets = {0.5};
  bool has_rotary = false;
};

Stack stack_of(const GatedStack& given) {
  BlockOptions block{
      .order = given.order,
      .attention = {.dim = kGateDim, .heads = 2, .is_causal = given.is_causal, .dropout = 0},
      .cross_attention = {.dim = kGateDim, .heads = 2, .dropout = 0},
      .feed_forward = {.dim = kGateDim, .width = 24},
      .norm = {.dim = kGateDim, .epsilon = 1e-5},
      .norm_placement = given.place,
      .dropout = 0};
  block.attention.rotary.theta = given.has_rotary ? 10000 : 0;
  if (given.is_gated) {
    block.gate = gate_options(given.budgets);
  }
  Stack stack(StackOptions{.layers = std::vector(given.layers, block)});
  test::fill_parameters(*stack);
  return stack;
}

at::Tensor gate_input(int64_t tokens) {
  return (at::arange(tokens * kGateDim, at::kDouble) * 1.7)
      .sin()
      .view({tokens, kGateDim})
      .to(at::kFloat);
}

bool is_gate(const std::string& name) { return name.find("gate.") != std::string::npos; }

/// Sets the bias of all gates whose name has `part`, and their other weights to zero.
void set_gates(StackImpl& stack, double bias, const std::string& part = "gate.") {
  const at::NoGradGuard guard;
  for (auto& item : stack.named_parameters()) {
    if (is_gate(item.key()) && item.key().find(part) != std::string::npos) {
      item.value().fill_(item.key().ends_with("output_bias") ? bias : 0);
    }
  }
}

/// Gates that depend on the token: logits relu(w x) - relu(-w x) = w x, of both signs.
void mix_gates(StackImpl& stack) {
  const at::NoGradGuard guard;
  for (auto& item : stack.named_parameters()) {
    if (item.key().find("norm.") != std::string::npos) {
      item.value().fill_(item.key().ends_with("weight") ? 1 : 0);
    } else if (!is_gate(item.key())) {
      continue;
    } else if (item.key().ends_with("hidden_weight")) {
      item.value().select(0, 1).copy_(-item.value().select(0, 0));
    } else if (item.key().ends_with("output_weight")) {
      item.value().zero_();
      item.value().view(-1)[0] = 1;
      item.value().view(-1)[1] = -1;
    } else {
      item.value().zero_();
    }
  }
}

/// The same stack without gates.
Stack ungated(const StackImpl& stack, GatedStack given) {
  given.is_gated = false;
  auto result = stack_of(given);
  const at::NoGradGuard guard;
  auto from = stack.named_parameters();
  for (auto& item : result->named_parameters()) {
    item.value().copy_(from[item.key()]);
  }
  return result;
}

ForwardContext gate_training_context(std::vector<int64_t> offsets, uint64_t step = 100) {
  auto context = test::context_of(std::move(offsets));
  context.is_training = true;
  context.seed = 3;
  context.step = step;
  return context;
}

const std::vector<GatedStack>& kinds_of_stacks() {
  static const std::vector<GatedStack> kKinds = {
      {},
      {.is_causal = true},
      {.place = NormPlacement::kPost},
      {.place = NormPlacement::kSandwich, .is_causal = true},
      {.is_causal = true, .has_rotary = true},
  };
  return kKinds;
}

TEST(ComputationGate, OpenGatesEqualTheUngatedModel) {
  const auto x = gate_input(12);
  for (const auto& kind : kinds_of_stacks()) {
    auto stack = stack_of(kind);
    set_gates(*stack, 1e4);
    auto plain = ungated(*stack, kind);
    for (const auto& context :
         {test::context_of({0, 1, 5, 12}), gate_training_context({0, 1, 5, 12})}) {
      EXPECT_TRUE(test::near(stack->forward(x, context), plain->forward(x, context), 1e-6));
      const auto last = RowSelection::last_tokens(context);
      EXPECT_TRUE(test::near(stack->forward_selected(x, context, last),
                             plain->forward_selected(x, context, last), 1e-6));
    }
  }
}

TEST(ComputationGate, ClosedGatesLeaveTheResidualStream) {
  const auto x = gate_input(12);
  for (const bool is_causal : {false, true}) {
    auto stack = stack_of({.is_causal = is_causal});
    set_gates(*stack, -1e4);
    for (const auto& context :
         {test::context_of({0, 1, 5, 12}), gate_training_context({0, 1, 5, 12})}) {
      EXPECT_TRUE(stack->forward(x, context).equal(x));
      const auto last = RowSelection::last_tokens(context);
      EXPECT_TRUE(stack->forward_selected(x, context, last).equal(last.select(x)));
    }
  }
}

/// lingvo core/layers.py, CCTGatingNetwork: relu between two linear layers, sigmoid in training, a
/// step function outside.
TEST(ComputationGate, HasTheValuesOfItsFormula) {
  ComputationGate gate(kGateDim, gate_options(), 5);
  test::fill_parameters(*gate);
  const auto x = gate_input(6);
  auto weights = gate->named_parameters();
  const auto logits = (x.mm(weights["hidden_weight"].t()) + weights["hidden_bias"])
                          .relu()
                          .mm(weights["output_weight"].t()) +
                      weights["output_bias"];
  const auto start = gate->forward(x, gate_training_context({0, 6}, 0));  // no noise yet
  EXPECT_FALSE(start.open);
  EXPECT_TRUE(test::near(start.factors, logits.sigmoid(), 1e-6));
  const auto outside = gate->forward(x, test::context_of({0, 6}));
  EXPECT_TRUE(outside.factors.equal(logits.ge(0).to(at::kFloat)));
  EXPECT_TRUE(outside.open->index.equal(logits.flatten().ge(0).nonzero().flatten()));
}

/// The standard deviation of the noise grows from 0 to `noise` over the warm-up.
TEST(ComputationGate, NoiseGrowsOverTheWarmup) {
  auto options = gate_options();
  options.noise = 0.8;
  ComputationGate gate(kGateDim, options, 5);
  const at::NoGradGuard guard;
  for (auto& parameter : gate->parameters()) {
    parameter.zero_();
  }
  constexpr int64_t kRows = 20000;
  const auto deviation_at = [&](uint64_t step) {
    const auto g =
        gate->forward(at::zeros({kRows, kGateDim}), gate_training_context({0, kRows}, step));
    return (g.factors / (1 - g.factors)).log().std().item<double>();
  };
  EXPECT_EQ(deviation_at(0), 0);
  EXPECT_NEAR(deviation_at(5), 0.4, 0.01);
  EXPECT_NEAR(deviation_at(10), 0.8, 0.02);
  EXPECT_NEAR(deviation_at(1000), 0.8, 0.02);
}

TEST(ComputationGate, NoiseDependsOnStepLayerAndToken) {
  auto stack = stack_of({});
  const auto x = gate_input(12);
  const auto at_step = [&](uint64_t step) {
    return stack->forward(x, gate_training_context({0, 12}, step));
  };
  EXPECT_TRUE(at_step(20).equal(at_step(20)));
  EXPECT_FALSE(test::near(at_step(20), at_step(21), 1e-4));
  auto first = gate_training_context({0, 5});
  auto rest = gate_training_context({0, 7});
  rest.first_row = 5;
  rest.first_sequence = 1;
  const auto parts =
      at::cat({stack->forward(x.narrow(0, 0, 5), first), stack->forward(x.narrow(0, 5, 7), rest)});
  EXPECT_TRUE(test::near(parts, stack->forward(x, gate_training_context({0, 5, 12})), 1e-5));
}

/// Each text alone equals that text in a batch; the rows that are skipped are those of the gates.
TEST(ComputationGate, SkippingEqualsMultiplyingByTheGate) {
  const auto x = gate_input(23);
  for (const auto& kind : kinds_of_stacks()) {
    auto stack = stack_of(kind);
    mix_gates(*stack);
    const auto context = test::context_of({0, 1, 9, 23});
    AuxiliaryLosses losses;
    auto counted = context;
    counted.auxiliary_losses = &losses;
    const auto all = stack->forward(x, counted);
    double open = 0;
    double count = 0;
    for (const auto& loss : losses.all()) {
      open += loss.sum.sum().item<double>();
      count += loss.share->counts.sum().item<double>();
    }
    EXPECT_EQ(count, 23 * 3 * 2);  // query, key and feed-forward of two layers
    const auto is_mixed = [](const AuxiliaryLoss& loss) {
      return loss.sum.sum().item<double>() > 0 && loss.sum.sum().item<double>() < 23;
    };
    EXPECT_GE(std::ranges::count_if(losses.all(), is_mixed), 3);
    EXPECT_GT(open, 0.2 * count);
    EXPECT_LT(open, 0.9 * count);
    const auto last = RowSelection::last_tokens(context);
    EXPECT_TRUE(test::near(stack->forward_selected(x, context, last), last.select(all), 1e-5));
    EXPECT_TRUE(test::near(stack->forward(x.narrow(0, 9, 14), test::context_of({0, 14})),
                           all.narrow(0, 9, 14), 1e-5));
  }
}

/// One layer by hand: softmax over all keys, of which a closed one is the bias (lingvo
/// layers_with_attention.py, CCTAttentionLayer: its input is multiplied by 0).
TEST(ComputationGate, AClosedKeyIsThatOfAnInputOfZeros) {
  for (const bool is_training : {false, true}) {
    auto stack = stack_of({.place = NormPlacement::kNone, .order = "a", .layers = 1});
    const at::NoGradGuard guard;
    mix_gates(*stack);
    auto context = is_training ? gate_training_context({0, 6}, 0) : test::context_of({0, 6});
    const auto x = gate_input(6);
    auto weights = stack->named_parameters();
    const auto gate_of = [&](const std::string& name) {
      const auto logits =
          (x.mm(weights[name + ".hidden_weight"].t()) + weights[name + ".hidden_bias"])
              .relu()
              .mm(weights[name + ".output_weight"].t()) +
          weights[name + ".output_bias"];
      return is_training ? logits.sigmoid() : logits.ge(0).to(at::kFloat);
    };
    const auto keys = gate_of("0.attention.key_gate");
    ASSERT_NE(keys.min().item<float>(), keys.max().item<float>());
    const auto qkv = weights["0.attention.qkv.weight"].chunk(3, 0);
    const auto bias = weights["0.attention.qkv.bias"].chunk(3, 0);
    const auto heads = [](const at::Tensor& rows) {
      return rows.view({6, 2, kGateDim / 2}).transpose(0, 1);
    };
    const auto q = heads(x.mm(qkv[0].t()) + bias[0]);
    const auto k = heads((x * keys).mm(qkv[1].t()) + bias[1]);
    const auto v = heads((x * keys).mm(qkv[2].t()) + bias[2]);
    const auto mixed = (q.bmm(k.transpose(1, 2)) / std::sqrt(kGateDim / 2.0))
                           .softmax(-1)
                           .bmm(v)
                           .transpose(0, 1)
                           .reshape({6, kGateDim});
    const auto branch =
        mixed.mm(weights["0.attention.output.weight"].t()) + weights["0.attention.output.bias"];
    EXPECT_TRUE(
        test::near(stack->forward(x, context), x + gate_of("0.attention_gate") * branch, 1e-5))
        << is_training;
  }
}

TEST(ComputationGate, FutureIsInvisible) {
  for (const bool has_rotary : {false, true}) {
    auto stack = stack_of({.is_causal = true, .has_rotary = has_rotary});
    mix_gates(*stack);
    const auto x = gate_input(12);
    auto edited = x.clone();
    edited.select(0, 11).add_(1.0);
    const auto context = test::context_of({0, 12});
    EXPECT_TRUE(test::near(stack->forward(edited, context).narrow(0, 0, 11),
                           stack->forward(x, context).narrow(0, 0, 11), 1e-6));
  }
}

/// Token by token, with a cache of keys and values, the states of one pass over all tokens.
TEST(ComputationGate, DecodingEqualsOnePass) {
  const at::NoGradGuard guard;
  for (const bool has_rotary : {false, true}) {
    auto stack = stack_of({.is_causal = true, .layers = 3, .has_rotary = has_rotary});
    mix_gates(*stack);
    const auto x = gate_input(20);
    const auto expected = stack->forward(x, test::context_of({0, 9, 20}));
    DecodingState state(2);
    std::vector<int64_t> done{0, 0};
    const auto pass = [&](std::vector<int64_t> lengths) {
      ForwardContext context;
      context.decoding_state = &state;
      context.layout = state.begin_step(lengths, at::kCPU);
      const auto rows =
          at::cat({x.narrow(0, done[0], lengths[0]), x.narrow(0, 9 + done[1], lengths[1])});
      const auto wanted = at::cat(
          {expected.narrow(0, done[0], lengths[0]), expected.narrow(0, 9 + done[1], lengths[1])});
      EXPECT_TRUE(test::near(stack->forward(rows, context), wanted, 1e-5)) << done[1];
      done[0] += lengths[0];
      done[1] += lengths[1];
    };
    pass({1, 3});
    for (int64_t i = 0; i < 8; ++i) {
      pass({1, 1});
    }
  }
}

/// Of one sequence: where its gate is closed, no query is left, but later tokens see its key.
TEST(ComputationGate, DecodingKeepsKeysOfClosedTokens) {
  const at::NoGradGuard guard;
  auto stack = stack_of({.is_causal = true, .layers = 3});
  mix_gates(*stack);
  const auto x = gate_input(30);
  const auto expected = stack->forward(x, test::context_of({0, 30}));
  DecodingState state(1);
  for (int64_t i = 0; i < 30; ++i) {
    ForwardContext context;
    context.decoding_state = &state;
    context.layout = state.begin_step({1}, at::kCPU);
    EXPECT_TRUE(
        test::near(stack->forward(x.narrow(0, i, 1), context), expected.narrow(0, i, 1), 1e-5))
        << i;
  }
}

/// Operations fall with the open gates: none but those of the gates are left if all are closed.
TEST(ComputationGate, CostIsThatOfTheOpenRows) {
  const at::NoGradGuard guard;
  const auto x = gate_input(64);
  const auto context = test::context_of({0, 30, 64});
  const auto cost_of = [&](double attention, double feed_forward) {
    auto stack = stack_of({});
    set_gates(*stack, attention, "attention");
    set_gates(*stack, feed_forward, "feed_forward_gate.");
    const kernels::FlopCounter counter;
    stack->forward(x, context);
    return static_cast<double>(counter.flops());
  };
  const auto closed = cost_of(-1, -1);
  const auto feed_forward = cost_of(-1, 1) - closed;
  EXPECT_EQ(feed_forward, 2.0 * 2 * 64 * 2 * kGateDim * 24);  // 2 layers, two products of 2 N D F
  auto stack = stack_of({});
  set_gates(*stack, -1, "attention");
  set_gates(*stack, 0, "feed_forward_gate.");
  for (auto& item : stack->named_parameters()) {
    if (item.key().ends_with("feed_forward_gate.hidden_weight")) {
      item.value().select(0, 0).select(0, 0).fill_(1);
    } else if (item.key().ends_with("feed_forward_gate.output_weight")) {
      item.value().select(0, 0).select(0, 0).fill_(1);
    } else if (item.key().ends_with("feed_forward_gate.output_bias")) {
      item.value().fill_(-0.05);
    }
  }
  AuxiliaryLosses losses;
  auto counted = context;
  counted.auxiliary_losses = &losses;
  const kernels::FlopCounter counter;
  stack->forward(x, counted);
  double open = 0;
  for (const auto& loss : losses.all()) {
    open += loss.sum.sum().item<double>();
  }
  ASSERT_GT(open, 10);
  ASSERT_LT(open, 118);
  EXPECT_EQ(static_cast<double>(counter.flops()) - closed, feed_forward * open / 128);
}

TEST(ComputationGate, EachTextOfAStepDrawsABudget) {
  ComputationGate gate(kGateDim, gate_options({0.25, 0.5, 1}), 5);
  test::fill_parameters(*gate);
  std::vector<int64_t> offsets(301);
  std::iota(offsets.begin(), offsets.end(), 0);
  auto context = gate_training_context(offsets);
  AuxiliaryLosses losses;
  context.auxiliary_losses = &losses;
  const auto gates = gate->forward(at::ones({300, kGateDim}), context);
  const auto targets = losses.all().front().share->targets;
  for (const auto budget : {0.25, 0.5, 1.0}) {
    EXPECT_NEAR(targets.eq(budget).sum().item<int64_t>(), 100, 35) << budget;
  }
  // Other ones with another seed or step.
  for (const bool is_seed : {true, false}) {
    AuxiliaryLosses others;
    auto other = context;
    other.auxiliary_losses = &others;
    (is_seed ? other.seed : other.step) += 1;
    gate->forward(at::ones({300, kGateDim}), other);
    EXPECT_FALSE(others.all().front().share->targets.equal(targets)) << is_seed;
  }
  // Outside training: the one that is set.
  AuxiliaryLosses outside;
  auto evaluated = test::context_of(offsets);
  evaluated.auxiliary_losses = &outside;
  set_computation_budget(*gate, 1);
  gate->forward(at::ones({300, kGateDim}), evaluated);
  EXPECT_TRUE(outside.all().front().share->targets.equal(at::ones({300})));
  EXPECT_EQ(test::message_of<UserError>([&] { set_computation_budget(*gate, 0.3); }),
            "budget: found 0.3, the model has the budgets 0.25, 0.5, 1");
}

TEST(ComputationGate, TheBudgetChangesTheGate) {
  ComputationGate gate(kGateDim, gate_options({0.25, 1}), 5);
  test::fill_parameters(*gate);
  const auto x = gate_input(8);
  auto weights = gate->named_parameters();
  const auto logits_with = [&](int64_t budget) {
    return (x.mm(weights["hidden_weight"].t()) + weights["hidden_bias"] +
            weights["budgets"].select(0, budget))
               .relu()
               .mm(weights["output_weight"].t()) +
           weights["output_bias"];
  };
  ASSERT_FALSE(test::near(logits_with(0), logits_with(1), 1e-2));
  // In training each sequence has its own; step 0 has no noise.
  auto context = gate_training_context({0, 1, 2, 3, 4, 5, 6, 7, 8}, 0);
  AuxiliaryLosses losses;
  context.auxiliary_losses = &losses;
  const auto found = gate->forward(x, context).factors;
  const auto is_second = losses.all().front().share->targets.eq(1).unsqueeze(1);
  ASSERT_TRUE(is_second.any().item<bool>());
  ASSERT_FALSE(is_second.all().item<bool>());
  EXPECT_TRUE(
      test::near(found, at::where(is_second, logits_with(1), logits_with(0)).sigmoid(), 1e-6));
  // Outside training all have the one that is set, which decides which rows are open.
  const at::NoGradGuard guard;
  weights["output_bias"].sub_(logits_with(0).mean().item<float>());
  for (const int64_t budget : {0, 1}) {
    set_computation_budget(*gate, budget == 0 ? 0.25 : 1);
    EXPECT_TRUE(gate->forward(x, test::context_of({0, 3, 8}))
                    .factors.equal(logits_with(budget).ge(0).to(at::kFloat)));
  }
}

TEST(ComputationGate, GradientMatchesDifferences) {
  auto stack = stack_of({.layers = 1, .budgets = {0.25, 1}});
  stack->to(at::kDouble);
  const auto context = gate_training_context({0, 1, 3, 8});
  const auto value_of = [&](const at::Tensor& x) {
    return stack->forward(x, context).square().sum();
  };
  const auto x = gate_input(8).to(at::kDouble).requires_grad_();
  auto leaves = stack->parameters();
  leaves.insert(leaves.begin(), x);
  test::expect_gradients_of_differences([&] { return value_of(x); }, leaves, 7, 1e-4);
}

/// The gradient of a recomputed layer, with the loss of its gates, is that of one that is kept.
TEST(ComputationGate, RecomputationChangesNothing) {
  std::vector<std::vector<at::Tensor>> gradients;
  for (const bool recomputes : {false, true}) {
    auto stack = stack_of({.budgets = {0.25, 1}});
    auto context = gate_training_context({0, 1, 3, 10});
    context.recomputes_layers = recomputes;
    AuxiliaryLosses losses;
    context.auxiliary_losses = &losses;
    auto loss = stack->forward(gate_input(10), context).square().sum();
    for (const auto& each : losses.all()) {
      loss = loss + (each.sum / each.share->counts - each.share->targets).abs().sum();
    }
    loss.backward();
    gradients.emplace_back();
    for (const auto& item : stack->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      gradients.back().push_back(item.value().grad());
    }
  }
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    EXPECT_TRUE(gradients[0][i].equal(gradients[1][i])) << i;
  }
}

TEST(ComputationGate, Bf16IsNearFp32) {
  auto stack = stack_of({});
  const auto context = gate_training_context({0, 4, 10});
  const auto expected = stack->forward(gate_input(10), context);
  stack->to(at::kBFloat16);
  const auto found = stack->forward(gate_input(10).to(at::kBFloat16), context);
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  EXPECT_LT((found.to(at::kFloat) - expected).abs().max().item<float>(),
            0.03 * expected.abs().max().item<float>());
}

/// Gates of queries and of the encoder states: at their limits the same layer.
TEST(ComputationGate, CrossAttentionHasGatesOfItsSource) {
  const GatedStack kind{.is_causal = true, .order = "acf"};
  auto stack = stack_of(kind);
  EncoderStates source{.states = gate_input(9).flip(0),
                       .layout = kernels::Layout::from_offsets({0, 4, 9}, at::kCPU)};
  for (auto context : {test::context_of({0, 5, 12}), gate_training_context({0, 5, 12})}) {
    context.encoder_states = &source;
    const auto x = gate_input(12);
    set_gates(*stack, 1e4);
    EXPECT_TRUE(
        test::near(stack->forward(x, context), ungated(*stack, kind)->forward(x, context), 1e-6));
    // Closed: all states are the same to the decoder, whatever they are.
    set_gates(*stack, -1e4, "cross_attention.key_gate.");
    const auto closed = stack->forward(x, context);
    auto other = source;
    other.states = other.states * 2 + 1;
    context.encoder_states = &other;
    EXPECT_TRUE(stack->forward(x, context).equal(closed));
    AuxiliaryLosses losses;
    context.auxiliary_losses = &losses;
    stack->forward(x, context);
    EXPECT_TRUE(losses.all()[3].share->counts.equal(at::tensor({4.0F, 5.0F})));  // source rows
  }
}

}  // namespace
}  // namespace weft::nn
