#include "kernels/recurrent.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/compare.h"

/// The passes over a whole batch against single steps in plain operations of LibTorch.
namespace weft::kernels {
namespace {

constexpr int64_t kCellWidth = 19;       // no whole number of vectors
constexpr int64_t kProjectedWidth = 10;  // of the state, with a projection
constexpr int64_t kCellSequences = 6;    // the last of them without tokens
const std::vector<int64_t> kCellCounts = {5, 4, 4, 1, 1};
constexpr int64_t kCellTokens = 15;

struct CellCase {
  std::string name;
  CellRule rule;
  bool is_projected = false;
};

bool has_clip(const CellRule& rule) { return rule.cell_clip < 1 || rule.state_clip < 1; }

/// from_input, weight, bias, state, cell state, projection.
std::vector<at::Tensor> cell_inputs(const CellCase& given) {
  const auto gates = gates_of(given.rule.cell) * kCellWidth;
  const auto state = given.is_projected ? kProjectedWidth : kCellWidth;
  const bool is_lstm = given.rule.cell == Cell::kLstm;
  return {at::randn({kCellTokens, gates}),
          at::randn({gates, state}) * 0.3,
          at::randn({gates}),
          at::randn({kCellSequences, state}) * 0.5,
          is_lstm ? at::randn({kCellSequences, kCellWidth}) : at::Tensor(),
          given.is_projected ? at::randn({kProjectedWidth, kCellWidth}) * 0.5 : at::Tensor()};
}

RecurrentState before_of(const std::vector<at::Tensor>& inputs) {
  return {.state = inputs[3],
          .cell_state = inputs[4].defined() ? inputs[4].to(at::kFloat) : at::Tensor()};
}

CellWeights weights_of(const std::vector<at::Tensor>& inputs) {
  return {.state = inputs[1], .bias = inputs[2], .projection = inputs[5]};
}

RecurrentState fused_states(const CellCase& given, const std::vector<at::Tensor>& inputs) {
  return recurrent_states(given.rule, inputs[0], weights_of(inputs), before_of(inputs),
                          kCellCounts);
}

RecurrentState by_step(const CellCase& given, const std::vector<at::Tensor>& inputs) {
  const auto weights = weights_of(inputs);
  const auto product = [&](const at::Tensor& state) {
    return at::linear(state, weights.state, weights.bias);
  };
  auto last = before_of(inputs);
  std::vector<at::Tensor> states;
  std::vector<at::Tensor> cell_states;
  int64_t first = 0;
  for (const auto rows : kCellCounts) {
    const auto rows_of = [&](const at::Tensor& x) {
      return x.defined() ? x.narrow(0, 0, rows) : x;
    };
    last = cell_step(given.rule, inputs[0].narrow(0, first, rows), product,
                     {.state = rows_of(last.state), .cell_state = rows_of(last.cell_state)});
    if (weights.projection.defined()) {
      last.state = clipped_state(given.rule, at::linear(last.state, weights.projection));
    }
    states.push_back(last.state);
    cell_states.push_back(last.cell_state);
    first += rows;
  }
  return {.state = at::cat(states),
          .cell_state = last.cell_state.defined() ? at::cat(cell_states) : at::Tensor()};
}

const std::vector<CellCase> kCells = {
    {"Lstm", {.cell = Cell::kLstm}},
    {"LstmProjected", {.cell = Cell::kLstm}, true},
    {"LstmCellClip", {.cell = Cell::kLstm, .cell_clip = 0.5}},
    {"LstmBothClips", {.cell = Cell::kLstm, .cell_clip = 0.5, .state_clip = 0.25}, true},
    {"Gru", {.cell = Cell::kGru}},
    {"GruResetBefore", {.cell = Cell::kGruResetBefore}},
    {"Tanh", {.cell = Cell::kTanh}},
    {"Relu", {.cell = Cell::kRelu}}};

using comparison::Tolerance;

Tolerance cell_tolerance(at::ScalarType type) {
  return type == at::kBFloat16 ? Tolerance{.absolute = 1e-2, .relative = 1.0 / 32} : Tolerance{};
}

class EachCell : public comparison::EveryVariant {};

TEST_P(EachCell, StatesAndGradientsEqualThoseOfSteps) {
  for (const auto& given : kCells) {
    std::vector<at::Tensor> rounded;
    for (const auto& input : cell_inputs(given)) {
      rounded.push_back(input.defined() ? input.to(type()) : input);
    }
    const auto states_of = [&](const auto& function) {
      return [&given, function](const std::vector<at::Tensor>& inputs) {
        return function(given, inputs).state;
      };
    };
    const auto actual = comparison::run(states_of(fused_states), rounded, type());
    const auto expected = comparison::run(states_of(by_step), rounded, at::kFloat);
    // What a value close to a clip gets depends on its rounding.
    const auto compared = type() == at::kFloat || !has_clip(given.rule) ? actual.size() : 1;
    for (std::size_t i = 0; i < compared; ++i) {
      comparison::expect_near(actual[i], expected[i], cell_tolerance(type()),
                              given.name + (i == 0 ? " states" : " " + std::to_string(i - 1)));
    }
  }
}

TEST_P(EachCell, MemoryEqualsThatOfSteps) {
  for (const auto& given : kCells) {
    if (given.rule.cell == Cell::kLstm) {
      const auto inputs = cell_inputs(given);
      comparison::expect_near(fused_states(given, inputs).cell_state,
                              by_step(given, inputs).cell_state, {}, given.name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EachCell, comparison::kVariants, comparison::variant_name);

TEST(RecurrentStates, AreClippedToTheLimits) {
  at::manual_seed(1);
  const auto& given = kCells[3];
  const auto after = fused_states(given, cell_inputs(given));
  EXPECT_EQ(after.cell_state.abs().max().item<double>(), 0.5);
  EXPECT_EQ(after.state.abs().max().item<double>(), 0.25);
  EXPECT_GT(after.cell_state.abs().lt(0.5).sum().item<int64_t>(), 50);
  EXPECT_GT(after.state.abs().lt(0.25).sum().item<int64_t>(), 20);
}

TEST(RecurrentStates, NotANumberStaysOne) {
  at::manual_seed(1);
  const auto& given = kCells[3];
  auto inputs = cell_inputs(given);
  inputs[0].slice(0, 0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const auto after = fused_states(given, inputs);
  EXPECT_TRUE(after.cell_state[0].isnan().all().item<bool>());
  EXPECT_TRUE(after.state[0].isnan().all().item<bool>());
}

/// Sequences that share the rows of a step on several threads.
TEST(RecurrentStates, DoNotDependOnTheNumberOfThreads) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const auto& given : kCells) {
      at::manual_seed(1);
      constexpr int64_t kWide = 160;
      const std::vector<int64_t> counts = {70, 69, 40};
      const auto gates = gates_of(given.rule.cell) * kWide;
      const auto state = given.is_projected ? int64_t{32} : kWide;
      const bool is_lstm = given.rule.cell == Cell::kLstm;
      const std::vector<at::Tensor> inputs = {
          at::randn({179, gates}),
          at::randn({gates, state}) * 0.1,
          at::randn({gates}),
          at::randn({70, state}),
          is_lstm ? at::randn({70, kWide}) : at::Tensor(),
          given.is_projected ? at::randn({state, kWide}) : at::Tensor()};
      const auto once = [&] {
        return comparison::run(
            [&](const std::vector<at::Tensor>& leaves) {
              return recurrent_states(given.rule, leaves[0], weights_of(leaves), before_of(leaves),
                                      counts)
                  .state;
            },
            inputs, type);
      };
      EXPECT_TRUE(comparison::same_bits(comparison::with_threads(1, once),
                                        comparison::with_threads(3, once)))
          << given.name;
    }
  }
}

/// As optimizers have it: the gradient exists and is added to.
TEST(RecurrentStates, GradientsOfWeightsAreAddedInPlace) {
  for (const auto& given : kCells) {
    at::manual_seed(1);
    auto inputs = cell_inputs(given);
    const auto once = [&](bool has_gradient) {
      auto leaves = inputs;
      for (const auto i : {1, 5}) {
        if (leaves[i].defined()) {
          leaves[i] = inputs[i].clone().requires_grad_();
          leaves[i].mutable_grad() = has_gradient ? at::ones_like(inputs[i]) : at::Tensor();
        }
      }
      fused_states(given, leaves).state.square().sum().backward();
      return std::pair{leaves[1].grad(), leaves[5].defined() ? leaves[5].grad() : at::Tensor()};
    };
    const auto [weight, projection] = once(false);
    const auto [more_weight, more_projection] = once(true);
    comparison::expect_near(more_weight, weight + 1, {}, given.name);
    if (given.is_projected) {
      comparison::expect_near(more_projection, projection + 1, {}, given.name);
    }
  }
}

TEST(RecurrentStates, RefuseAProjectionThatDoesNotFit) {
  auto inputs = cell_inputs(kCells[1]);
  inputs[5] = at::randn({kProjectedWidth + 1, kCellWidth});
  EXPECT_THROW(fused_states(kCells[1], inputs), c10::Error);
  inputs[5].reset();
  EXPECT_THROW(fused_states(kCells[1], inputs), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
