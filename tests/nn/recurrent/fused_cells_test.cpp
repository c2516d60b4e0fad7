// Cells whose fused passes are compared with single steps, and dropout in them.
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "nn/linear.h"
#include "nn/recurrent/recurrent_layers.h"
#include "support/context.h"

namespace weft::nn {
namespace {

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
    return {.state = before.state + forget * (candidate - before.state), .cell_state = {}};
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

}  // namespace
}  // namespace weft::nn
