#include "nn/attention/memory/slot_memory.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/auxiliary_losses.h"
#include "nn/block.h"
#include "nn/carried_state.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "slot_stacks.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

/// Memory slots that layers read and that are written after each segment (Memformer).
namespace weft::nn {
namespace {

ForwardContext slot_training_context(const std::vector<int64_t>& offsets) {
  auto context = test::context_of(offsets);
  context.is_training = true;
  context.seed = 5;
  context.step = 2;
  return context;
}

/// Gradients of a sum with different weights of all outputs: of x, then of the parameters.
std::vector<at::Tensor> gradients_of(Stack& stack,
                                     const at::Tensor& rows,
                                     const ForwardContext& context) {
  const auto x = rows.detach().clone().requires_grad_();
  const auto y = stack->forward(x, context);
  auto wanted = stack->parameters();
  wanted.insert(wanted.begin(), x);
  return torch::autograd::grad({(y * (slot_rows(y.size(0), y.scalar_type()) + 0.5)).sum()}, wanted,
                               {}, false, false, /*allow_unused=*/true);
}

double difference(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double worst = found.size() == expected.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].defined(), expected[i].defined()) << i;
    if (found[i].defined() && expected[i].defined()) {
      worst = std::max(worst, (found[i] - expected[i]).abs().max().item<double>());
    }
  }
  return worst;
}

/// The parameters of `to` get the values of those of `from` with the same names.
void copy_parameters(const torch::nn::Module& from, torch::nn::Module& to) {
  const at::NoGradGuard guard;
  const auto values = from.named_parameters();
  for (auto& parameter : to.named_parameters()) {
    parameter.value().copy_(values[parameter.key()]);
  }
}

TEST(MemorySlots, ThatNothingReadsAreThePlainModelOnSegments) {
  auto stack = slot_stack({});
  auto plain = slot_stack({.order = "af"});
  copy_parameters(*stack, *plain);
  const auto x = slot_rows(33);
  const auto segments = test::context_of({0, 4, 8, 12, 13, 14, 18, 21, 25, 29, 33});
  const auto expected = plain->forward(x, segments);
  EXPECT_FALSE(test::near(stack->forward(x, test::context_of(kSlotOffsets)), expected, 1e-3));
  set_to_zero(*stack, "memory.output");
  EXPECT_TRUE(test::near(stack->forward(x, test::context_of(kSlotOffsets)), expected, 1e-12));
  auto whole = slot_stack({.keys = "slots: 3"});
  copy_parameters(*stack, *whole);
  EXPECT_TRUE(test::near(whole->forward(x, test::context_of(kSlotOffsets)),
                         plain->forward(x, test::context_of(kSlotOffsets)), 1e-12));
}

TEST(MemorySlots, ASequenceAloneEqualsItInCompany) {
  for (const bool is_causal : {true, false}) {
    auto stack = slot_stack({.keys = "slots: 3, segment: 4, unroll: 9", .is_causal = is_causal});
    const auto x = slot_rows(33);
    const auto y = stack->forward(x, test::context_of(kSlotOffsets));
    const auto all = gradients_of(stack, x, test::context_of(kSlotOffsets))[0];
    for (std::size_t b = 0; b + 1 < kSlotOffsets.size(); ++b) {
      const auto begin = kSlotOffsets[b];
      const auto own = x.slice(0, begin, kSlotOffsets[b + 1]);
      const auto context = test::context_of({0, own.size(0)});
      const auto alone = stack->forward(own, context);
      EXPECT_TRUE(test::near(alone, y.narrow(0, begin, own.size(0)), 1e-12)) << b;
    }
    // The weights of the sum are those of the place in the batch.
    const auto first = x.slice(0, 0, 13).detach().clone().requires_grad_();
    const auto part = (stack->forward(first, test::context_of({0, 4, 13})) * (slot_rows(13) + 0.5));
    EXPECT_TRUE(
        test::near(torch::autograd::grad({part.sum()}, {first})[0], all.slice(0, 0, 13), 1e-11));
  }
}

TEST(MemorySlots, SegmentsSeeTheEarlierOnes) {
  auto stack = slot_stack({});
  const auto x = slot_rows(12);
  const auto y = stack->forward(x, test::context_of({0, 12}));
  for (int64_t t = 0; t < 12; ++t) {
    auto edited = x.clone();
    edited[t][2].add_(1);
    const auto change =
        (stack->forward(edited, test::context_of({0, 12})) - y).abs().amax(1) > 1e-12;
    for (int64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(change[i].item<bool>(), i >= t) << t << " " << i;
    }
  }
}

TEST(MemorySlots, GradientsFlowThroughAsManySegmentsAsUnrolled) {
  for (const int64_t unroll : {1, 2, 3, 9}) {
    for (const std::string replay : {"false", "true"}) {
      auto stack = slot_stack({.keys = "slots: 3, segment: 4, unroll: " + std::to_string(unroll) +
                                       ", replay: " + replay});
      const auto x = slot_rows(16).requires_grad_();
      const auto y = stack->forward(x, test::context_of({0, 16}));
      for (int64_t reader = 0; reader < 4; ++reader) {
        const auto gradient =
            torch::autograd::grad({(y * slot_rows(16)).narrow(0, 4 * reader, 4).sum()}, {x}, {},
                                  /*retain_graph=*/true)[0];
        for (int64_t writer = 0; writer < 4; ++writer) {
          const bool flows = writer <= reader && writer / unroll == reader / unroll;
          EXPECT_EQ(gradient.narrow(0, 4 * writer, 4).abs().max().item<double>() > 0, flows)
              << unroll << replay << ": " << writer << " to " << reader;
        }
      }
    }
  }
}

TEST(MemorySlots, WithoutUnrollingNothingTrainsTheWrite) {
  const auto written = [](int64_t unroll) {
    auto stack = slot_stack({.keys = "slots: 3, segment: 4, unroll: " + std::to_string(unroll)});
    const auto found = gradients_of(stack, slot_rows(33), test::context_of(kSlotOffsets));
    const auto names = stack->named_parameters().keys();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "memory.key_value.weight") {
        return found[i + 1].defined() && found[i + 1].abs().max().item<double>() > 0;
      }
    }
    ADD_FAILURE() << "no such parameter";
    return false;
  };
  EXPECT_FALSE(written(1));
  EXPECT_TRUE(written(2));
}

/// The limit of memory replay back-propagation, with dropout and with layers that are recomputed.
TEST(MemorySlots, ReplayHasTheGradientsOfTheUnrolledSegments) {
  for (const std::string write : {"attention_norm", "gru"}) {
    for (const int64_t unroll : {1, 2, 9}) {
      const auto keys = "slots: 3, segment: 4, write: " + write +
                        ", temperature: 0.5, unroll: " + std::to_string(unroll);
      auto plain = slot_stack({.keys = keys, .dropout = 0.3});
      auto replayed = slot_stack({.keys = keys + ", replay: true", .dropout = 0.3});
      auto context = slot_training_context(kSlotOffsets);
      const auto expected = gradients_of(plain, slot_rows(33), context);
      EXPECT_LE(difference(gradients_of(replayed, slot_rows(33), context), expected), 1e-10)
          << keys;
      context.recomputes_layers = true;
      EXPECT_LE(difference(gradients_of(plain, slot_rows(33), context), expected), 1e-10) << keys;
      EXPECT_LE(difference(gradients_of(replayed, slot_rows(33), context), expected), 1e-10)
          << keys;
    }
  }
}

TEST(MemorySlots, GradientsAreThoseOfDifferences) {
  for (const std::string write : {"attention_norm", "gru"}) {
    auto stack = slot_stack({.keys = "slots: 2, segment: 2, unroll: 9, write: " + write});
    const auto context = test::context_of({0, 5, 6});
    const auto x = slot_rows(6);
    const auto loss = [&](const at::Tensor& rows) {
      const at::NoGradGuard guard;
      return (stack->forward(rows, context) * (slot_rows(6) + 0.5)).sum().item<double>();
    };
    const auto gradients = gradients_of(stack, x, context);
    constexpr double kStep = 1e-6;
    for (int64_t i = 0; i < x.numel(); i += 5) {
      auto more = x.clone();
      auto less = x.clone();
      more.view(-1)[i].add_(kStep);
      less.view(-1)[i].sub_(kStep);
      EXPECT_NEAR(gradients[0].view(-1)[i].item<double>(), (loss(more) - loss(less)) / (2 * kStep),
                  1e-6);
    }
    auto parameters = stack->parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      auto value = parameters[p].detach().view(-1)[0];
      value.add_(kStep);
      const auto more = loss(x);
      value.sub_(2 * kStep);
      const auto less = loss(x);
      value.add_(kStep);
      const auto found =
          gradients[p + 1].defined() ? gradients[p + 1].view(-1)[0].item<double>() : 0.0;
      EXPECT_NEAR(found, (more - less) / (2 * kStep), 1e-6) << write << p;
    }
  }
}

/// The outputs of steps of these lengths, each one sequence of stream 4.
at::Tensor by_steps(Stack& stack, const at::Tensor& x, const std::vector<int64_t>& lengths) {
  CarriedState state;
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const auto length : lengths) {
    auto context = test::context_of({0, length});
    context.carried_state = &state;
    context.streams = {4};
    outputs.push_back(stack->forward(x.narrow(0, begin, length), context).detach());
    stack->forward(x.narrow(0, begin, length), context);  // a step that is computed again
    state.commit();
    begin += length;
  }
  return at::cat(outputs);
}

TEST(MemorySlots, AStreamContinuesWithItsMemory) {
  for (const std::string write : {"attention_norm", "gru"}) {
    auto stack = slot_stack({.keys = "slots: 3, segment: 4, write: " + write});
    const auto x = slot_rows(24);
    const auto whole = stack->forward(x, test::context_of({0, 24}));
    EXPECT_TRUE(test::near(by_steps(stack, x, {8, 4, 12}), whole, 1e-12));
    auto unit = slot_stack({.keys = "slots: 3, write: " + write});  // a sequence is one segment
    copy_parameters(*stack, *unit);
    EXPECT_TRUE(test::near(by_steps(unit, x, {4, 4, 4, 4, 4, 4}), whole, 1e-12));
    EXPECT_FALSE(test::near(by_steps(unit, x, {4, 4, 4, 4, 8}), whole, 1e-6));
  }
}

TEST(MemorySlots, StreamsOfDifferentLengthsHaveAMemoryEach) {
  auto stack = slot_stack({});
  const auto x = slot_rows(24);
  CarriedState state;
  auto context = test::context_of({0, 4, 13});
  context.carried_state = &state;
  context.streams = {1, 2};
  stack->forward(x.narrow(0, 0, 13), context);
  state.commit();
  EXPECT_EQ(state.tensors().size(), 2U);
  EXPECT_EQ(state.get(1, "memory_slots").sizes(), at::IntArrayRef({3, kSlotDim}));
  EXPECT_FALSE(state.get(1, "memory_slots").requires_grad());
  context.layout = test::context_of({0, 6, 11}).layout;
  const auto second = stack->forward(x.narrow(0, 13, 11), context);
  const auto text = [&](int64_t first, int64_t first_length, int64_t begin, int64_t length) {
    return by_steps(stack, at::cat({x.narrow(0, first, first_length), x.narrow(0, begin, length)}),
                    {first_length, length})
        .narrow(0, first_length, length);
  };
  EXPECT_TRUE(test::near(second.narrow(0, 0, 6), text(0, 4, 13, 6), 1e-12));
  EXPECT_TRUE(test::near(second.narrow(0, 6, 5), text(4, 9, 19, 5), 1e-12));
  context.streams = {1, 3};  // the second is new
  EXPECT_TRUE(test::near(stack->forward(x.narrow(0, 13, 11), context).narrow(0, 6, 5),
                         stack->forward(x.narrow(0, 19, 5), test::context_of({0, 5})), 1e-12));
}

TEST(MemorySlots, DropoutDoesNotDependOnMicroBatches) {
  for (const double drop_path_rate : {0.0, 0.5}) {
    auto stack = slot_stack({.keys = "slots: 3, segment: 4, unroll: 2",
                             .dropout = 0.4,
                             .drop_path_rate = drop_path_rate});
    const auto x = slot_rows(33);
    const auto whole = stack->forward(x, slot_training_context(kSlotOffsets));
    for (const auto& offsets : {std::vector<int64_t>{0, 1, 8, 20}, std::vector<int64_t>{0, 1}}) {
      auto context =
          slot_training_context(offsets);  // of the last three sequences, or the first of them
      context.first_row = 13;
      context.first_sequence = 2;
      context.earlier_lengths = {4, 9};
      const auto tokens = offsets.back();
      EXPECT_TRUE(test::near(stack->forward(x.narrow(0, 13, tokens), context),
                             whole.narrow(0, 13, tokens), 1e-12))
          << drop_path_rate << " " << tokens;
    }
  }
}

TEST(MemorySlots, SegmentsDrawDifferentDropout) {
  auto stack = slot_stack({.dropout = 0.4});
  set_to_zero(*stack, "memory.output");
  const auto x = slot_rows(4).repeat({2, 1});
  const auto y = stack->forward(x, slot_training_context({0, 8}));
  EXPECT_FALSE(test::near(y.narrow(0, 0, 4), y.narrow(0, 4, 4), 0.1));
}

TEST(MemorySlots, DecodingByTokenEqualsTheWholePass) {
  const at::NoGradGuard no_grad;
  for (const std::string keys : {"slots: 3, segment: 4", "slots: 3, segment: 4, write: gru",
                                 "slots: 3, segment: 1", "slots: 3"}) {
    auto stack = slot_stack({.keys = keys});
    const auto x = slot_rows(24);
    const auto expected = stack->forward(x, test::context_of({0, 14, 24}));
    DecodingState state(2);
    ForwardContext context;
    context.decoding_state = &state;
    context.layout = state.begin_step({9, 2}, at::kCPU);
    auto found = stack->forward(at::cat({x.slice(0, 0, 9), x.slice(0, 14, 16)}), context);
    EXPECT_TRUE(test::near(found.slice(0, 0, 9), expected.slice(0, 0, 9), 1e-12)) << keys;
    EXPECT_TRUE(test::near(found.slice(0, 9), expected.slice(0, 14, 16), 1e-12)) << keys;
    for (int64_t i = 0; i < 5; ++i) {
      context.layout = state.begin_step({1, 1}, at::kCPU);
      found = stack->forward(at::stack({x[9 + i], x[16 + i]}), context);
      EXPECT_TRUE(test::near(found[0], expected[9 + i], 1e-12)) << keys << i;
      EXPECT_TRUE(test::near(found[1], expected[16 + i], 1e-12)) << keys << i;
    }
    context.layout = state.begin_step({0, 3}, at::kCPU);  // over the end of a segment
    found = stack->forward(x.slice(0, 21, 24), context);
    EXPECT_TRUE(test::near(found, expected.slice(0, 21, 24), 1e-12)) << keys;
  }
}

TEST(MemorySlots, ReorderedSequencesContinueAsTheirParents) {
  const at::NoGradGuard no_grad;
  auto stack = slot_stack({});
  const auto x = slot_rows(20);
  const auto expected = stack->forward(x, test::context_of({0, 9, 20}));
  DecodingState state(2);
  ForwardContext context;
  context.decoding_state = &state;
  context.layout = state.begin_step({7, 6}, at::kCPU);
  stack->forward(at::cat({x.slice(0, 0, 7), x.slice(0, 9, 15)}), context);
  state.reorder({1, 0, 1});
  for (int64_t i = 0; i < 2; ++i) {
    context.layout = state.begin_step({1, 1, 1}, at::kCPU);
    const auto found = stack->forward(at::stack({x[15 + i], x[7 + i], x[15 + i]}), context);
    EXPECT_TRUE(test::near(found[0], expected[15 + i], 1e-12)) << i;
    EXPECT_TRUE(test::near(found[1], expected[7 + i], 1e-12)) << i;
    EXPECT_TRUE(test::near(found[2], expected[15 + i], 1e-12)) << i;
  }
  state.reorder({2});
  context.layout = state.begin_step({3}, at::kCPU);
  EXPECT_TRUE(
      test::near(stack->forward(x.slice(0, 17, 20), context), expected.slice(0, 17, 20), 1e-12));
}

TEST(MemorySlots, Bf16IsNearFp32) {
  auto stack = slot_stack({.type = at::kFloat});
  auto half = slot_stack({.type = at::kBFloat16});
  const auto x = slot_rows(33, at::kFloat);
  const auto y = stack->forward(x, test::context_of(kSlotOffsets));
  const auto found = half->forward(x.to(at::kBFloat16), test::context_of(kSlotOffsets));
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(test::near(found, y, 0.1));
}

TEST(MemorySlots, RefuseOptionsThatDoNotGoTogether) {
  const auto message = [](const std::string& keys) {
    return test::message_of<config::Error>([&] { slot_reader(keys); });
  };
  EXPECT_NE(message("unroll: 2").find("unroll: found 2, must be 1 without segment"),
            std::string::npos);
  EXPECT_NE(message("replay: true").find("replay: has no effect without segment"),
            std::string::npos);
  EXPECT_NE(message("write: grru").find("'grru' is not one of attention_norm, gru"),
            std::string::npos);
  EXPECT_NE(message("slots: 0").find("slots: "), std::string::npos);
  EXPECT_NE(message("segment: 0").find("segment: "), std::string::npos);
}

}  // namespace
}  // namespace weft::nn
