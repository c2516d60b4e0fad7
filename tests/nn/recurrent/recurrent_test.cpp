#include "nn/recurrent/recurrent.h"

#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/nn/modules/rnn.h>

#include "nn/block.h"
#include "nn/recurrent/recurrent_layers.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

/// A module of LibTorch that runs one sequence (1, N, D) -> (1, N, S).
struct LibtorchLayer {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const at::Tensor&)> forward;
};

LibtorchLayer libtorch_layer(const std::string& cell, bool is_bidirectional, int64_t layers = 1) {
  const int64_t width = layers == 1 ? kStateWidth : kRecurrentDim;
  if (cell == "{cell: gru}") {
    torch::nn::GRU gru(torch::nn::GRUOptions(kRecurrentDim, width)
                           .batch_first(true)
                           .num_layers(layers)
                           .bidirectional(is_bidirectional));
    return {gru.ptr(), [gru](const at::Tensor& x) mutable { return std::get<0>(gru->forward(x)); }};
  }
  if (cell.find("lstm") != std::string::npos) {
    auto options = torch::nn::LSTMOptions(kRecurrentDim, width)
                       .batch_first(true)
                       .num_layers(layers)
                       .bidirectional(is_bidirectional);
    if (cell.find("projection") != std::string::npos) {
      options.proj_size(3);
    }
    torch::nn::LSTM lstm(options);
    return {lstm.ptr(),
            [lstm](const at::Tensor& x) mutable { return std::get<0>(lstm->forward(x)); }};
  }
  torch::nn::RNNOptions options(kRecurrentDim, width);
  options.batch_first(true).num_layers(layers).bidirectional(is_bidirectional);
  if (cell.find("relu") != std::string::npos) {
    options.nonlinearity(torch::kReLU);
  }
  torch::nn::RNN rnn(options);
  return {rnn.ptr(), [rnn](const at::Tensor& x) mutable { return std::get<0>(rnn->forward(x)); }};
}

/// Names of the same parameters here and in LibTorch.
std::vector<std::pair<std::string, std::string>> names_of(const Recurrent& layer,
                                                          const std::string& number) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& item : layer.named_parameters()) {
    auto theirs = item.key();
    const auto replace = [&](const std::string& from, const std::string& to) {
      const auto at = theirs.find(from);
      theirs = at == std::string::npos ? theirs : theirs.replace(at, from.size(), to);
    };
    if (theirs.find("output") != std::string::npos) {
      continue;
    }
    const auto end = theirs.starts_with("reverse_") ? number + "_reverse" : number;
    replace("reverse_cell.", "");
    replace("cell.", "");
    replace("input.weight", "weight_ih_l");
    replace("input.bias", "bias_ih_l");
    replace("hidden.weight", "weight_hh_l");
    replace("hidden.bias", "bias_hh_l");
    replace("projection.weight", "weight_hr_l");
    names.emplace_back(item.key(), theirs + end);
  }
  return names;
}

void copy_parameters(const Recurrent& layer,
                     torch::nn::Module& module,
                     const std::string& number = "0") {
  const at::NoGradGuard no_grad;
  const auto own = layer.named_parameters();
  auto theirs = module.named_parameters();
  for (const auto& [name, their_name] : names_of(layer, number)) {
    theirs[their_name].copy_(own[name]);
  }
}

at::Tensor by_sequence(const LibtorchLayer& layer, const at::Tensor& x) {
  std::vector<at::Tensor> sequences;
  for (std::size_t b = 0; b + 1 < kRagged.size(); ++b) {
    if (kRagged[b + 1] > kRagged[b]) {
      sequences.push_back(
          layer.forward(x.slice(0, kRagged[b], kRagged[b + 1]).unsqueeze(0)).squeeze(0));
    }
  }
  return at::cat(sequences);
}

class RecurrentCells : public ::testing::TestWithParam<CellCase> {
 protected:
  static std::string cell() { return std::get<0>(GetParam()); }
  static bool is_bidirectional() { return std::get<1>(GetParam()); }
};

/// In fp32 by the fused kernels, in double precision step by step.
TEST_P(RecurrentCells, EqualLibtorchForEachSequence) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const double tolerance = type == at::kFloat ? 1e-6 : 1e-12;
    const auto layer = filled(cell(), is_bidirectional());
    auto reference = libtorch_layer(cell(), is_bidirectional());
    layer->to(type);
    reference.module->to(type);
    copy_parameters(*layer, *reference.module);
    const auto own = layer->named_parameters();
    auto x = recurrent_rows(17, type).requires_grad_();
    auto y = recurrent_rows(17, type).requires_grad_();
    const auto found = layer->forward(x, test::context_of(kRagged));
    const auto output_weight = own["output.weight"].detach().clone().requires_grad_();
    const auto expected =
        at::linear(by_sequence(reference, y), output_weight, own["output.bias"].detach());
    EXPECT_TRUE(test::near(found, expected, tolerance));
    const auto weights = recurrent_rows(17, type).cos();
    (found * weights).sum().backward();
    (expected * weights).sum().backward();
    EXPECT_TRUE(test::near(x.grad(), y.grad(), 2 * tolerance));
    EXPECT_TRUE(test::near(own["output.weight"].grad(), output_weight.grad(), 5 * tolerance));
    const auto theirs = reference.module->named_parameters();
    for (const auto& [name, their_name] : names_of(*layer, "0")) {
      EXPECT_TRUE(test::near(own[name].grad(), theirs[their_name].grad(), 5 * tolerance)) << name;
    }
  }
}

TEST_P(RecurrentCells, SelectedRowsAreThoseOfTheWholePass) {
  const auto layer = filled(cell(), is_bidirectional());
  const auto context = test::context_of({0, 2, 7});
  const auto selection = RowSelection::from_rows({1, 3, 6}, context, 0);
  EXPECT_TRUE(test::near(layer->forward_selected(recurrent_rows(7), context, selection),
                         selection.select(layer->forward(recurrent_rows(7), context)), 1e-6));
}

TEST_P(RecurrentCells, RoundsInBf16) {
  const auto layer = filled(cell(), is_bidirectional());
  const auto expected = layer->forward(recurrent_rows(17), test::context_of(kRagged));
  layer->to(at::kBFloat16);
  auto x = recurrent_rows(17).to(at::kBFloat16).requires_grad_();
  const auto found = layer->forward(x, test::context_of(kRagged));
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(test::near(found.to(at::kFloat), expected, 0.05));
  found.sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Of,
                         RecurrentCells,
                         ::testing::Combine(::testing::Values("{cell: gru}",
                                                              "{cell: lstm}",
                                                              "{cell: lstm, projection: 3}",
                                                              "{cell: rnn}",
                                                              "{cell: rnn, activation: relu}"),
                                            ::testing::Bool()));

/// With an identity as output projection.
TEST(Recurrent, StackedLayersEqualThoseOfLibtorch) {
  for (const std::string cell : {"{cell: gru}", "{cell: lstm}", "{cell: rnn}"}) {
    const at::NoGradGuard no_grad;
    auto reference = libtorch_layer(cell, false, 2);
    auto x = recurrent_rows(17);
    const auto expected = by_sequence(reference, x);
    for (const std::string number : {"0", "1"}) {
      const auto layer = filled(cell, false, kRecurrentDim);
      auto own = layer->named_parameters();
      const auto theirs = reference.module->named_parameters();
      for (const auto& [name, their_name] : names_of(*layer, number)) {
        own[name].copy_(theirs[their_name]);
      }
      own["output.weight"].copy_(at::eye(kRecurrentDim));
      own["output.bias"].zero_();
      x = layer->forward(x, test::context_of(kRagged));
    }
    EXPECT_TRUE(test::near(x, expected, 1e-6)) << cell;
  }
}

TEST(Recurrent, ForgetBiasIsAddedToTheBiasOfTheForgetGate) {
  const at::NoGradGuard no_grad;
  const auto with_bias = filled("{cell: lstm, forget_bias: 1.5}");
  const auto without = filled("{cell: lstm}");
  without->named_parameters()["cell.input.bias"].slice(0, kStateWidth, 2 * kStateWidth).add_(1.5);
  const auto context = test::context_of(kRagged);
  const auto expected = without->forward(recurrent_rows(17), context);
  EXPECT_TRUE(test::near(with_bias->forward(recurrent_rows(17), context), expected, 1e-6));
  for (const auto& module : with_bias->modules()) {  // as for generation
    if (auto* const linear = module->as<Linear>()) {
      linear->pack();
    }
  }
  EXPECT_TRUE(test::near(with_bias->forward(recurrent_rows(17), context), expected, 1e-6));
}

/// Forget gate 1, input gate 0.
TEST(Recurrent, ClippedLstmEqualsTheEquationsStepByStep) {
  const at::NoGradGuard no_grad;
  const auto layer = filled("{cell: lstm, projection: 3, cell_clip: 0.3, projection_clip: 0.05}");
  auto own = layer->named_parameters();
  const auto x = recurrent_rows(6);
  auto cell_state = at::zeros({1, kStateWidth});
  auto state = at::zeros({1, 3});
  std::vector<at::Tensor> outputs;
  bool is_clipped = false;
  for (int64_t t = 0; t < 6; ++t) {
    const auto gates =
        (at::linear(x.slice(0, t, t + 1), own["cell.input.weight"], own["cell.input.bias"]) +
         at::linear(state, own["cell.hidden.weight"], own["cell.hidden.bias"]))
            .chunk(4, 1);
    const auto whole = gates[1].sigmoid() * cell_state + gates[0].sigmoid() * gates[2].tanh();
    cell_state = whole.clamp(-0.3, 0.3);
    const auto projected =
        at::linear(gates[3].sigmoid() * cell_state.tanh(), own["cell.projection.weight"]);
    state = projected.clamp(-0.05, 0.05);
    is_clipped |= !at::equal(cell_state, whole) && !at::equal(state, projected);
    outputs.push_back(at::linear(state, own["output.weight"], own["output.bias"]));
  }
  EXPECT_TRUE(is_clipped);
  EXPECT_TRUE(test::near(layer->forward(x, test::context_of({0, 6})), at::cat(outputs), 1e-6));
}

TEST(Recurrent, LstmKeepsItsMemoryExactly) {
  const at::NoGradGuard no_grad;
  const auto cell = cell_maker("{cell: lstm}")({.dim = 1, .width = 2});
  for (auto& parameter : cell->parameters()) {
    parameter.zero_();
  }
  auto bias = cell->named_parameters()["input.bias"];
  bias.slice(0, 0, 2).fill_(-200);
  bias.slice(0, 2, 4).fill_(200);
  auto before = cell->initial_state(1, at::zeros({1, 1}));
  before.cell_state.copy_(at::tensor({0.123F, -4.5F}).view({1, 2}));
  const auto context = test::context_of({0, 6});
  const auto after = cell->states(at::ones({6, 1}), before, time_steps_of(context.layout), context);
  EXPECT_TRUE(after.cell_state.equal(before.cell_state.expand({6, 2})));
}

/// One unit by hand: h = 0.5, x = 1, all weights 1, no biases; r = z = sigmoid(1.5).
TEST(Recurrent, GruResetsBeforeOrAfterTheProduct) {
  const at::NoGradGuard no_grad;
  const double gate = 1 / (1 + std::exp(-1.5));
  for (const std::string reset : {"before", "after"}) {
    const auto cell = cell_maker("{cell: gru, reset: " + reset + "}")({.dim = 1, .width = 1});
    for (auto& item : cell->named_parameters()) {
      item.value().fill_(item.key().ends_with("weight") ? 1 : 0);
    }
    // The product is 2 h + 3, so that the two forms differ.
    cell->named_parameters()["hidden.weight"][2].fill_(2);
    cell->named_parameters()["hidden.bias"][2].fill_(3);
    const double from_state = reset == "before" ? 2 * gate * 0.5 + 3 : gate * (2 * 0.5 + 3);
    const double candidate = std::tanh(1 + from_state);
    const auto context = test::context_of({0, 1});
    const auto after =
        cell->states(at::ones({1, 1}), {.state = at::full({1, 1}, 0.5), .cell_state = {}},
                     time_steps_of(context.layout), context);
    EXPECT_NEAR(after.state.item<double>(), (1 - gate) * candidate + gate * 0.5, 1e-6) << reset;
  }
}

TEST(Recurrent, RefusesTwoDirectionsInModelsThatGenerate) {
  auto section = config::Document::parse("{cell: lstm, bidirectional: true}", "recurrent").root();
  const auto maker = read_recurrent(section);
  BlockOptions block{.attention = {.dim = 8, .heads = 1, .is_causal = true}, .norm = {.dim = 8}};
  EXPECT_THROW(maker(block), config::Error);
  block.attention.is_causal = false;
  EXPECT_EQ(maker(block)->named_parameters()["output.weight"].size(1), 16);
}

}  // namespace
}  // namespace weft::nn
