#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/attention/memory/slot_memory.h"
#include "nn/carried_state.h"
#include "slot_stacks.h"
#include "support/context.h"
#include "support/tensors.h"

/// How memory slots are written after a segment.
namespace weft::nn {
namespace {

/// The memory of a stack and what one of its segments is written from.
struct WrittenMemory {
  explicit WrittenMemory(const std::string& keys)
      : memory(std::dynamic_pointer_cast<SlotAttention>(
                   slot_reader(keys)({.attention = {.dim = kSlotDim, .heads = kSlotHeads},
                                      .norm = {.dim = kSlotDim, .epsilon = 1e-5}}))
                   ->make_memory()) {
    test::fill_parameters(*memory, 0.6);
    memory->to(at::kDouble);
  }

  at::Tensor write(const at::Tensor& slots, const at::Tensor& states) const {
    const auto own = memory->keys_and_values(states, context);
    return memory->write(
        slots, {.key = own[0], .value = own[1], .begins = {0}, .lengths = {states.size(0)}},
        context);
  }

  ForwardContext context;
  std::shared_ptr<SlotMemory> memory;
};

/// What slots (k, D) read: attention to all slots and states, of which the other slots are masked.
at::Tensor masked_read(const torch::nn::Module& memory,
                       const at::Tensor& slots,
                       const at::Tensor& states,
                       double temperature) {
  const auto parameters = memory.named_parameters();
  const auto linear = [&](const std::string& name, const at::Tensor& rows) {
    return at::linear(rows, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  const auto heads = [](const at::Tensor& rows) {
    return rows.view({rows.size(0), kSlotHeads, -1}).transpose(0, 1);
  };
  const auto keys_values = linear("key_value", at::cat({slots, states})).chunk(2, 1);
  auto scores = at::matmul(heads(linear("query", slots)), heads(keys_values[0]).transpose(1, 2)) /
                std::sqrt(static_cast<double>(kSlotDim / kSlotHeads)) / temperature;
  const auto count = slots.size(0);
  const auto others = 1 - at::eye(count, slots.options());
  scores.narrow(2, 0, count).masked_fill_(others.to(at::kBool), -INFINITY);
  const auto mixed = at::matmul(scores.softmax(2), heads(keys_values[1]));
  return linear("output", mixed.transpose(0, 1).flatten(1));
}

TEST(MemorySlots, EachReadsItselfAndTheStates) {
  const at::NoGradGuard guard;
  const WrittenMemory written("slots: 3, temperature: 0.25");
  const auto slots = slot_rows(3);
  const auto states = slot_rows(7).cos();
  const auto read = masked_read(*written.memory, slots, states, 0.25);
  const auto sum = slots + read + written.memory->named_parameters()["update.bias"];
  EXPECT_TRUE(test::near(written.write(slots.unsqueeze(0), states)[0],
                         sum / sum.square().sum(1, true).sqrt(), 1e-12));
  const auto bias = written.memory->named_parameters()["update.bias"];
  EXPECT_TRUE(
      test::near(written.memory->initial(2)[1], bias / bias.square().sum(1, true).sqrt(), 1e-12));
}

TEST(MemorySlots, AGruChangesThem) {
  const at::NoGradGuard guard;
  const WrittenMemory written("slots: 3, write: gru");
  const auto slots = slot_rows(3);
  const auto states = slot_rows(7).cos();
  const auto parameters = written.memory->named_parameters();
  const auto read = masked_read(*written.memory, slots, states, 1);
  const auto after = at::gru_cell(
      read, slots, parameters["update.cell.input.weight"], parameters["update.cell.hidden.weight"],
      parameters["update.cell.input.bias"], parameters["update.cell.hidden.bias"]);
  const auto normed = at::layer_norm(after, {kSlotDim}, parameters["update.norm.weight"],
                                     parameters["update.norm.bias"], 1e-5);
  const auto wide = at::gelu(at::linear(normed, parameters["update.feed_forward.up.weight"],
                                        parameters["update.feed_forward.up.bias"]));
  const auto expected = after + at::linear(wide, parameters["update.feed_forward.down.weight"],
                                           parameters["update.feed_forward.down.bias"]);
  EXPECT_TRUE(test::near(written.write(slots.unsqueeze(0), states)[0], expected, 1e-12));
}

/// Numbers of the encoder of lucidrains/memformer at c8f9a97, in fp64, with the same values in its
/// parameters and without positions, for three segments.
TEST(MemorySlots, AnEncoderWithAGruHasThePublicNumbers) {
  const at::NoGradGuard guard;
  auto stack = slot_stack({.keys = "slots: 3, segment: 7, write: gru",
                           .is_causal = false,
                           .theta = 0,
                           .width = 4 * kSlotDim});
  CarriedState state;
  auto context = test::context_of({0, 20});
  context.carried_state = &state;
  context.streams = {0};
  const auto x = slot_rows(20);
  const auto y = stack->forward(x, context);
  state.commit();
  const auto expected =
      at::tensor({-0.487168119163, 0.362656994962, 0.732586705466, 0.203098350291, -0.378959335805,
                  0.290256327591, 0.669407064767, 0.189690960834, -0.420130691256, 0.169235125037,
                  0.662494912162, 0.223401572135},
                 at::kDouble)
          .view({3, 4});
  EXPECT_TRUE(test::near(at::stack({y[6], y[13], y[19]}).slice(1, 0, 4), expected, 1e-10));
  EXPECT_NEAR(y.sum().item<double>(), 31.094078834167, 1e-9);
  EXPECT_NEAR((y * x).sum().item<double>(), -1.360334111475, 1e-9);
  const auto slots = at::tensor({4.355086197153, -0.853188011978, -10.058045564658, 4.861139870937,
                                 -1.415175425482, -8.736519682636, 4.122929771410, -0.906747796375,
                                 -9.538394176469},
                                at::kDouble)
                         .view({3, 3});
  EXPECT_TRUE(test::near(state.get(0, "memory_slots").slice(1, 0, 3), slots, 1e-9));
}

TEST(MemorySlots, ThatReadNothingReturnToWhereTheyBegan) {
  const at::NoGradGuard guard;
  const WrittenMemory written("slots: 3");
  set_to_zero(*written.memory, "output");
  auto slots = slot_rows(3) / slot_rows(3).norm(2, {1}, true);
  const auto initial = written.memory->initial(1);
  auto before = (slots - initial[0]).norm().item<double>();
  for (int i = 0; i < 30; ++i) {
    slots = written.write(slots.unsqueeze(0), slot_rows(4))[0];
    const auto distance = (slots - initial[0]).norm().item<double>();
    EXPECT_LT(distance, before);
    before = distance;
  }
  EXPECT_LT(before, 1e-3);
}

}  // namespace
}  // namespace weft::nn
