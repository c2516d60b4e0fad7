#include "nn/recurrent/cell.h"

#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

class Cells : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Of,
                         Cells,
                         testing::Values("{cell: gru}",
                                         "{cell: gru, reset: before}",
                                         "{cell: lstm}",
                                         "{cell: lstm, forget_bias: 1}",
                                         "{cell: lstm, projection: 3}",
                                         "{cell: rnn}",
                                         "{cell: rnn, activation: relu}"));

std::shared_ptr<RecurrentCell> filled_cell(const std::string& keys) {
  auto section = config::Document::parse(keys, "cell").root();
  std::string name = "gru";
  section.read("cell", name, {});
  const auto cell = recurrent_cells().at(name).read(section)({.dim = 4, .width = 5});
  section.reject_unread();
  test::fill_parameters(*cell);
  return cell;
}

/// Of three sequences.
kernels::RecurrentState state_of(const RecurrentCell& cell) {
  auto state = cell.initial_state(3, at::zeros({1}));
  const auto filled = [](const at::Tensor& x) {
    return at::arange(x.numel(), at::kFloat).mul(1.1).sin().view_as(x).requires_grad_();
  };
  state.state = filled(state.state);
  state.cell_state = state.cell_state.defined()
                         ? filled(state.cell_state).mul(2).detach().requires_grad_()
                         : state.cell_state;
  return state;
}

TEST_P(Cells, StatesOfABatchHaveTheGradientsOfItsSteps) {
  const auto cell = filled_cell(GetParam());
  const auto context = test::context_of({0, 2, 6, 7});
  const auto steps = time_steps_of(context.layout);
  const auto loss_of = [](const at::Tensor& states) {  // in the order of the steps
    return (states * at::arange(states.numel()).mul(0.3).cos().view_as(states)).sum();
  };
  auto x = at::arange(28, at::kFloat).mul(0.9).cos().view({7, 4}).requires_grad_();
  const auto gradients = [&](const kernels::RecurrentState& before) {
    std::vector<at::Tensor> result = {x.grad().clone(), before.state.grad()};
    if (before.cell_state.defined()) {
      result.push_back(before.cell_state.grad());
    }
    for (const auto& parameter : cell->parameters()) {
      result.push_back(parameter.grad().clone());
    }
    x.mutable_grad().reset();
    test::clear_gradients(*cell);
    return result;
  };

  const auto before = state_of(*cell);
  const auto together = cell->states(x, before, steps, context).state;
  loss_of(together).backward();
  const auto found = gradients(before);

  const auto same = state_of(*cell);
  auto state = same;
  std::vector<at::Tensor> states;
  std::size_t first = 0;
  for (const auto count : steps.counts) {
    const std::vector<int64_t> tokens(steps.tokens.begin() + static_cast<int64_t>(first),
                                      steps.tokens.begin() + static_cast<int64_t>(first) + count);
    state.state = state.state.narrow(0, 0, count);
    state.cell_state =
        state.cell_state.defined() ? state.cell_state.narrow(0, 0, count) : state.cell_state;
    state = cell->next(x.index_select(0, at::tensor(tokens)), state, context);
    states.push_back(state.state);
    first += static_cast<std::size_t>(count);
  }
  EXPECT_TRUE(test::near(together, at::cat(states), 1e-6));
  loss_of(at::cat(states)).backward();
  const auto expected = gradients(same);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].defined() && expected[i].defined()) << i;
    EXPECT_GT(expected[i].abs().max().item<float>(), 0) << i;
    EXPECT_TRUE(test::near(found[i], expected[i], 1e-5)) << i;
  }
}

}  // namespace
}  // namespace weft::nn
