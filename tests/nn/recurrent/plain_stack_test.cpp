#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <torch/nn/modules/rnn.h>

#include "nn/recurrent/recurrent.h"
#include "nn/stack.h"
#include "support/components.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

/// Stacks of recurrent layers without norms, residual connections and output projections, as
/// torch.nn.LSTM has them.
namespace weft::nn {
namespace {

constexpr int64_t kPlainDim = 8;
const std::vector<int64_t> kPlainOffsets{0, 2, 7, 7, 8, 13, 17};

at::Tensor plain_rows(int64_t count) {
  return at::arange(count * kPlainDim, at::kFloat).view({count, kPlainDim}).mul(0.7).sin();
}

/// A layer with such keys in `recurrent`.
BlockOptions plain_block(const std::string& keys,
                         const std::string& residual = "none",
                         NormPlacement place = NormPlacement::kNone) {
  BlockOptions block{.order = "r",
                     .attention = {.dim = kPlainDim, .heads = 1},
                     .norm = {.dim = kPlainDim},
                     .norm_placement = place,
                     .dropout = 0};
  block.make_residual_scale =
      test::component(residual_types(), "residual", "type: " + residual).make;
  const auto document =
      config::Document::parse("{" + keys + ", output_projection: false}", "recurrent");
  auto section = document.root();
  block.make_sublayer["recurrent"] = read_recurrent(section);
  section.reject_unread();
  return block;
}

Stack plain_stack(const std::vector<BlockOptions>& layers) {
  Stack stack(StackOptions{.layers = layers});
  test::fill_parameters(*stack);
  return stack;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// `0.recurrent.reverse_cell.input.weight` is `weight_ih_l0_reverse` there.
std::string libtorch_name(const std::string& name) {
  const auto layer = name.substr(0, name.find('.'));
  const auto end = name.find("reverse_cell") == std::string::npos ? "" : "_reverse";
  auto rest = name.substr(name.find("cell.") + 5);
  rest = replaced(replaced(rest, "input.weight", "weight_ih"), "input.bias", "bias_ih");
  rest = replaced(replaced(rest, "hidden.weight", "weight_hh"), "hidden.bias", "bias_hh");
  return rest + "_l" + layer + end;
}

at::Tensor by_sequence(torch::nn::LSTM& lstm, const at::Tensor& x) {
  std::vector<at::Tensor> sequences;
  for (std::size_t b = 0; b + 1 < kPlainOffsets.size(); ++b) {
    const auto rows = x.slice(0, kPlainOffsets[b], kPlainOffsets[b + 1]);
    if (rows.size(0) > 0) {
      sequences.push_back(std::get<0>(lstm->forward(rows.unsqueeze(0))).squeeze(0));
    }
  }
  return at::cat(sequences);
}

/// Values and gradients.
TEST(PlainStack, EqualsTheStackedLstmOfLibtorch) {
  for (const bool is_bidirectional : {false, true}) {
    const auto width = is_bidirectional ? kPlainDim / 2 : kPlainDim;
    const auto block =
        plain_block("cell: lstm, width: " + std::to_string(width) +
                    (is_bidirectional ? ", bidirectional: true" : ", bidirectional: false"));
    auto stack = plain_stack({block, block});
    torch::nn::LSTM lstm(torch::nn::LSTMOptions(kPlainDim, width)
                             .num_layers(2)
                             .bidirectional(is_bidirectional)
                             .batch_first(true));
    auto theirs = lstm->named_parameters();
    EXPECT_EQ(stack->named_parameters().size(), theirs.size());
    {
      const at::NoGradGuard no_grad;
      for (const auto& own : stack->named_parameters()) {
        theirs[libtorch_name(own.key())].copy_(own.value());
      }
    }
    auto x = plain_rows(17).requires_grad_();
    auto y = plain_rows(17).requires_grad_();
    const auto found = stack->forward(x, test::context_of(kPlainOffsets));
    const auto expected = by_sequence(lstm, y);
    EXPECT_TRUE(test::near(found, expected, 1e-6));
    (found * plain_rows(17).cos()).sum().backward();
    (expected * plain_rows(17).cos()).sum().backward();
    EXPECT_TRUE(test::near(x.grad(), y.grad(), 1e-6));
    for (const auto& own : stack->named_parameters()) {
      EXPECT_TRUE(test::near(own.value().grad(), theirs[libtorch_name(own.key())].grad(), 5e-6))
          << own.key();
    }
  }
}

/// As in AWD-LSTM: each layer reads the states of the one before, the last is as wide as the
/// embeddings.
TEST(PlainStack, LayersMayHaveTheirOwnWidths) {
  auto stack = plain_stack({plain_block("cell: lstm, width: 12"),
                            plain_block("cell: gru, width: 5"), plain_block("cell: lstm")});
  EXPECT_FALSE(stack->has_one_width());
  auto own = stack->named_parameters();
  EXPECT_EQ(own["0.recurrent.cell.input.weight"].sizes(), (std::vector<int64_t>{48, 8}));
  EXPECT_EQ(own["1.recurrent.cell.input.weight"].sizes(), (std::vector<int64_t>{15, 12}));
  EXPECT_EQ(own["2.recurrent.cell.input.weight"].sizes(), (std::vector<int64_t>{32, 5}));
  const auto context = test::context_of(kPlainOffsets);
  const auto selection = RowSelection::from_rows({1, 6, 16}, context, 0);
  auto x = plain_rows(17).requires_grad_();
  const auto y = stack->forward(x, context);
  EXPECT_TRUE(test::near(stack->forward_selected(x, context, selection), selection.select(y)));
  y.square().sum().backward();
  EXPECT_TRUE(x.grad().abs().sum(1).gt(0).all().item<bool>());
}

TEST(PlainStack, NormsHaveTheWidthOfTheirLayer) {
  for (const auto place : {NormPlacement::kPre, NormPlacement::kPost, NormPlacement::kSandwich}) {
    auto stack = plain_stack({plain_block("cell: rnn, width: 12", "none", place),
                              plain_block("cell: rnn", "none", place)});
    const auto own = stack->named_parameters();
    const auto widths = [&](const std::string& name) {
      const auto* const weight = own.find(name);
      return weight == nullptr ? 0 : weight->size(0);
    };
    const bool is_post = place == NormPlacement::kPost;
    EXPECT_EQ(widths("0.recurrent_norm.weight"), is_post ? 12 : 8);
    EXPECT_EQ(widths("1.recurrent_norm.weight"), is_post ? 8 : 12);
    EXPECT_EQ(widths("0.recurrent_output_norm.weight"), place == NormPlacement::kSandwich ? 12 : 0);
    EXPECT_EQ(stack->forward(plain_rows(17), test::context_of(kPlainOffsets)).size(1), kPlainDim);
  }
}

/// The dropout of the block is between the layers and after them.
TEST(PlainStack, DropsOutputsOfEachLayer) {
  auto block = plain_block("cell: lstm");
  block.dropout = 0.5;
  auto stack = plain_stack({block});
  const auto whole = stack->forward(plain_rows(17), test::context_of(kPlainOffsets));
  auto context = test::context_of(kPlainOffsets);
  context.is_training = true;
  context.seed = 3;
  const auto dropped = stack->forward(plain_rows(17), context);
  const auto is_kept = dropped.ne(0);
  EXPECT_NEAR(is_kept.to(at::kDouble).mean().item<double>(), 0.5, 0.15);
  EXPECT_TRUE(test::near(dropped, whole * is_kept * 2, 1e-6));
}

TEST(PlainStack, RefusesWidthsThatDoNotFit) {
  const auto message = [](const std::vector<BlockOptions>& layers) {
    return test::message_of<config::Error>([&] { plain_stack(layers); });
  };
  EXPECT_EQ(message({plain_block("cell: lstm, width: 5", "plain")}),
            "model.block: sub-layer `r` (recurrent) of layer 0 has 8 features before and 5 after "
            "it, must be dim 8 for a residual connection");
  EXPECT_EQ(message({plain_block("cell: lstm, width: 5")}),
            "model.block: the last layer ends with 5 features, must be dim 8");
  auto attention = plain_block("cell: lstm");
  attention.order = "a";
  EXPECT_EQ(message({plain_block("cell: lstm, width: 5"), attention}),
            "model.block: sub-layer `a` (attention) of layer 1 reads 5 features of the sub-layer "
            "before it, must be dim 8");
  const auto block = plain_block("cell: lstm");
  EXPECT_NO_THROW(plain_stack({block, block}));
  EXPECT_THROW(Stack(StackOptions{.layers = {plain_block("cell: lstm, width: 5"), block},
                                  .layer_groups = 1}),
               config::Error);
  EXPECT_THROW(Stack(StackOptions{.layers = {plain_block("cell: lstm, width: 5"), block},
                                  .step_embedding = StepEmbeddingType::kLearned}),
               config::Error);
  auto parallel = block;
  parallel.is_parallel = true;
  EXPECT_THROW(make_block(parallel), c10::Error);
  EXPECT_THROW(Stack(StackOptions{.layers = {block}, .reversible = StreamMerge::kMean}),
               c10::Error);
}

/// Norm of the gradient of the last state with respect to the first input of 51.
double gradient_at_distance_50(const std::string& cell) {
  torch::manual_seed(1);
  constexpr int64_t kUnits = 32;
  const auto document = config::Document::parse("{" + cell + "}", "cell");
  auto section = document.root();
  std::string name;
  section.read("cell", name, {});
  const auto made = recurrent_cells().at(name).read(section)({.dim = kUnits, .width = kUnits});
  const at::NoGradGuard no_grad;
  for (auto& parameter : made->parameters()) {  // as torch.nn.LSTM and RNN begin
    parameter.uniform_(-1 / std::sqrt(kUnits), 1 / std::sqrt(kUnits));
  }
  const at::AutoGradMode with_gradient(true);
  auto x = at::randn({51, kUnits}).requires_grad_();
  const auto states = made->token_states(x, /*is_reverse=*/false, test::context_of({0, 51}));
  states[50].sum().backward();
  return x.grad()[0].norm().item<double>();
}

/// With forget gates that start open (Jozefowicz et al., ICML 2015) an LSTM still has a gradient
/// where that of a simple network has vanished.
TEST(RecurrentGradient, VanishesInASimpleNetwork) {
  const auto simple = gradient_at_distance_50("cell: rnn");
  const auto lstm = gradient_at_distance_50("cell: lstm, forget_bias: 1");
  EXPECT_GT(lstm, 0);
  EXPECT_LT(simple, 1e-3 * lstm) << simple << " and " << lstm;
}

TEST(Recurrent, StatesOfATruncatedSequenceAreThoseOfTheWhole) {
  for (const std::string cell : {"cell: lstm", "cell: gru, reset: before", "cell: rnn"}) {
    auto stack = plain_stack({plain_block(cell), plain_block(cell)});
    const auto x = plain_rows(9);
    const auto whole = stack->forward(x, test::context_of({0, 9}));
    for (const int64_t length : {1, 4, 8}) {
      EXPECT_TRUE(test::near(stack->forward(x.slice(0, 0, length), test::context_of({0, length})),
                             whole.slice(0, 0, length), 1e-6))
          << cell << ' ' << length;
    }
  }
}

}  // namespace
}  // namespace weft::nn
