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
#include "nn/carried_state.h"
#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kRecurrentDim = 8;
constexpr int64_t kStateWidth = 5;

/// Sequences of different lengths, also equal ones and an empty one, that are not sorted.
const std::vector<int64_t> kRagged{0, 2, 7, 7, 8, 13, 17};

at::Tensor recurrent_rows(int64_t count, at::ScalarType type = at::kFloat) {
  return at::arange(count * kRecurrentDim, type).view({count, kRecurrentDim}).mul(0.7).sin();
}

CellMaker cell_maker(const std::string& yaml) {
  auto section = config::Document::parse(yaml, "cell").root();
  std::string name = "gru";
  section.read("cell", name, {});
  auto maker = recurrent_cells().at(name).read(section);
  section.reject_unread();
  return maker;
}

std::shared_ptr<Recurrent> filled(const std::string& cell,
                                  bool is_bidirectional = false,
                                  int64_t width = kStateWidth) {
  const auto layer =
      std::make_shared<Recurrent>(RecurrentOptions{.dim = kRecurrentDim,
                                                   .width = width,
                                                   .layer = 0,
                                                   .make_cell = cell_maker(cell),
                                                   .is_bidirectional = is_bidirectional});
  test::fill_parameters(*layer);
  return layer;
}

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

using CellCase = std::tuple<std::string, bool>;

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

class FusedCells : public ::testing::TestWithParam<CellCase> {};

/// In double precision a layer runs step by step.
TEST_P(FusedCells, EqualTheStepsInDoublePrecision) {
  const auto& [cell, is_bidirectional] = GetParam();
  const auto run = [&](at::ScalarType type) {
    const auto layer = filled(cell, is_bidirectional);
    layer->to(type);
    auto x = recurrent_rows(17, type).requires_grad_();
    const auto y = layer->forward(x, test::context_of(kRagged));
    (y * recurrent_rows(17, type).cos()).sum().backward();
    std::vector<at::Tensor> all = {y.detach(), x.grad()};
    for (const auto& parameter : layer->parameters()) {
      all.push_back(parameter.grad());
    }
    return all;
  };
  const auto found = run(at::kFloat);
  const auto expected = run(at::kDouble);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], expected[i], i == 0 ? 1e-6 : 5e-6)) << i;
  }
}

/// As for generation, where the layer runs step by step, too.
TEST_P(FusedCells, EqualTheStepsOfPackedWeights) {
  const at::NoGradGuard no_grad;
  const auto& [cell, is_bidirectional] = GetParam();
  const auto layer = filled(cell, is_bidirectional);
  const auto expected = layer->forward(recurrent_rows(17), test::context_of(kRagged));
  for (const auto& module : layer->modules()) {
    if (auto* const linear = module->as<Linear>()) {
      linear->pack();
    }
  }
  EXPECT_TRUE(
      test::near(layer->forward(recurrent_rows(17), test::context_of(kRagged)), expected, 1e-6));
}

TEST_P(FusedCells, RoundInBf16) {
  const auto& [cell, is_bidirectional] = GetParam();
  const auto layer = filled(cell, is_bidirectional);
  const auto expected = layer->forward(recurrent_rows(17), test::context_of(kRagged));
  layer->to(at::kBFloat16);
  auto x = recurrent_rows(17).to(at::kBFloat16).requires_grad_();
  const auto found = layer->forward(x, test::context_of(kRagged));
  EXPECT_TRUE(test::near(found.to(at::kFloat), expected, 0.05));
  found.sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Of,
                         FusedCells,
                         ::testing::Combine(::testing::Values("{cell: gru, reset: before}",
                                                              "{cell: lstm, cell_clip: 0.2}",
                                                              "{cell: lstm, projection: 3, "
                                                              "cell_clip: 0.2, projection_clip: "
                                                              "0.05}"),
                                            ::testing::Bool()));

/// A cell of a program that links Weft, without a fused pass (arXiv:1701.03452, equation 2): h' =
/// (1 - f) h + f tanh(W x + U (f h)).
class MinimalGatedCell : public RecurrentCell {
 public:
  explicit MinimalGatedCell(const CellOptions& options)
      : RecurrentCell(options, /*gates=*/2, options.width) {}

 protected:
  std::optional<kernels::CellRule> rule() const override { return std::nullopt; }
  kernels::RecurrentState step(const at::Tensor& from_input,
                               const kernels::RecurrentState& before,
                               const ForwardContext& context) override {
    const auto x = from_input.chunk(2, 1);
    const auto forget = at::sigmoid(x[0] + hidden_->forward(before.state, context).chunk(2, 1)[0]);
    const auto candidate =
        at::tanh(x[1] + hidden_->forward(forget * before.state, context).chunk(2, 1)[1]);
    return {.state = before.state + forget * (candidate - before.state), .memory = {}};
  }
};

CellMaker read_minimal_gated(config::Section& /*section*/) {
  return [](const CellOptions& options) { return std::make_shared<MinimalGatedCell>(options); };
}

TEST(RegisteredCell, RunsStepByStep) {
  if (recurrent_cells().find("minimal_gated") == nullptr) {
    register_recurrent_cell({"minimal_gated", read_minimal_gated});
  }
  const auto layer = filled("{cell: minimal_gated}", /*is_bidirectional=*/true);
  auto x = recurrent_rows(17).requires_grad_();
  const auto all = layer->forward(x, test::context_of(kRagged));
  EXPECT_TRUE(test::near(layer->forward(x.slice(0, 2, 7), test::context_of({0, 5})),
                         all.slice(0, 2, 7), 1e-6));
  all.square().sum().backward();
  EXPECT_TRUE(x.grad().abs().sum(1).gt(0).all().item<bool>());
}

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
  auto memory = at::zeros({1, kStateWidth});
  auto state = at::zeros({1, 3});
  std::vector<at::Tensor> outputs;
  bool is_clipped = false;
  for (int64_t t = 0; t < 6; ++t) {
    const auto gates =
        (at::linear(x.slice(0, t, t + 1), own["cell.input.weight"], own["cell.input.bias"]) +
         at::linear(state, own["cell.hidden.weight"], own["cell.hidden.bias"]))
            .chunk(4, 1);
    const auto whole = gates[1].sigmoid() * memory + gates[0].sigmoid() * gates[2].tanh();
    memory = whole.clamp(-0.3, 0.3);
    const auto projected =
        at::linear(gates[3].sigmoid() * memory.tanh(), own["cell.projection.weight"]);
    state = projected.clamp(-0.05, 0.05);
    is_clipped |= !at::equal(memory, whole) && !at::equal(state, projected);
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
  before.memory.copy_(at::tensor({0.123F, -4.5F}).view({1, 2}));
  const auto context = test::context_of({0, 6});
  const auto after = cell->states(at::ones({6, 1}), before, time_steps_of(context.layout), context);
  EXPECT_TRUE(after.memory.equal(before.memory.expand({6, 2})));
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
        cell->states(at::ones({1, 1}), {.state = at::full({1, 1}, 0.5), .memory = {}},
                     time_steps_of(context.layout), context);
    EXPECT_NEAR(after.state.item<double>(), (1 - gate) * candidate + gate * 0.5, 1e-6) << reset;
  }
}

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

/// A training pass of the layer, with all of its parameters' gradients.
ForwardContext training_context(uint64_t step) {
  auto context = test::context_of(kRagged);
  context.is_training = true;
  context.seed = 3;
  context.step = step;
  return context;
}

std::shared_ptr<Recurrent> with_dropout(const std::string& cell,
                                        double weight_dropout,
                                        double variational_dropout) {
  const auto layer =
      std::make_shared<Recurrent>(RecurrentOptions{.dim = kRecurrentDim,
                                                   .width = kStateWidth,
                                                   .layer = 0,
                                                   .make_cell = cell_maker(cell),
                                                   .weight_dropout = weight_dropout,
                                                   .variational_dropout = variational_dropout});
  test::fill_parameters(*layer);
  return layer;
}

TEST(RecurrentDropout, OfWeightsIsOneMaskForTheWholeStep) {
  for (const auto* cell :
       {"{cell: lstm}", "{cell: lstm, projection: 3}", "{cell: gru, reset: before}"}) {
    const auto layer = with_dropout(cell, 0.5, 0);
    const auto x = recurrent_rows(17);
    const auto dropped = layer->forward(x, training_context(1));
    EXPECT_TRUE(at::equal(dropped, layer->forward(x, training_context(1)))) << cell;
    EXPECT_FALSE(at::equal(dropped, layer->forward(x, training_context(2)))) << cell;
    auto second_micro_batch = training_context(1);
    second_micro_batch.first_row = 100;
    EXPECT_TRUE(at::equal(dropped, layer->forward(x, second_micro_batch))) << cell;

    // The layer without dropout whose weights are the dropped ones.
    auto weight = layer->named_parameters()["cell.hidden.weight"];
    dropped.square().sum().backward();
    const auto is_kept = weight.grad().ne(0);
    EXPECT_NEAR(is_kept.to(at::kDouble).mean().item<double>(), 0.5, 0.2) << cell;
    const at::NoGradGuard no_grad;
    weight.mul_(is_kept).mul_(2);
    EXPECT_TRUE(test::near(dropped, layer->forward(x, test::context_of(kRagged)), 1e-6)) << cell;
  }
}

TEST(RecurrentDropout, VariationalIsOneMaskForAllTokensOfASequence) {
  const auto layer = with_dropout("{cell: rnn}", 0, 0.5);
  auto x = recurrent_rows(17).requires_grad_();
  layer->forward(x, training_context(1)).square().sum().backward();
  const auto is_kept = x.grad().ne(0);
  int other_masks = 0;
  for (std::size_t b = 0; b + 1 < kRagged.size(); ++b) {
    const auto rows = is_kept.slice(0, kRagged[b], kRagged[b + 1]);
    EXPECT_TRUE(at::equal(rows, rows.slice(0, 0, 1).expand_as(rows))) << "sequence " << b;
    other_masks += rows.size(0) > 0 && !at::equal(rows[0], is_kept[0]) ? 1 : 0;
  }
  EXPECT_GT(other_masks, 0);
  EXPECT_NEAR(is_kept.to(at::kDouble).mean().item<double>(), 0.5, 0.25);
  EXPECT_TRUE(at::equal(layer->forward(x, test::context_of(kRagged)),
                        filled("{cell: rnn}")->forward(x, test::context_of(kRagged))));
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
