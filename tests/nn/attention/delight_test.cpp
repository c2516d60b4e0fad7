#include "nn/attention/delight.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "delight_rows.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "nn/attention/attention_layers.h"
#include "nn/block.h"
#include "nn/dropout_sites.h"
#include "nn/row_selection.h"
#include "nn/stack.h"
#include "support/config.h"

namespace weft::nn {
namespace {

struct DelightLayerCase {
  bool is_causal;
  NormPlacement place;
  std::vector<double> output;  // cosine_weighted_rows
  std::vector<double> gradient;
};

// Printed by DeLighTTransformerEncoderLayer of the authors' code: depth 5, at most 4 groups.
const std::vector<DelightLayerCase> kPublishedLayers{
    {false,
     NormPlacement::kPost,
     {0.1367858761, -0.06814765683, -0.3263156323, -0.3107817103, 0.04544079743},
     {-0.9773660676, 0.7720960137, -0.7288375293, 0.5098777372, -0.01997836733}},
    {false,
     NormPlacement::kPre,
     {-1.844104989, 0.7796396676, 2.263953126, 0.3284955127, -2.150395766},
     {8.622312255, -7.972803732, 6.90024486, -5.6833193, 3.605393479}},
    {true,
     NormPlacement::kPost,
     {0.1375136523, -0.06808910072, -0.3271237959, -0.3112071774, 0.04544079743},
     {-0.9794870726, 0.7736407778, -0.7315440914, 0.5110306814, -0.01990306413}},
    {true,
     NormPlacement::kPre,
     {-1.844112268, 0.7796803412, 2.264047359, 0.3285264104, -2.150395766},
     {8.62269448, -7.972826261, 6.900224945, -5.683377151, 3.60538613}}};

TEST(DelightAttention, AndALightFeedForwardAreTheAuthorsLayer) {
  for (const auto& published : kPublishedLayers) {
    const auto attention = test::attention_choice("type: delight, depth: [5, 5], groups: 4");
    const auto block = make_block({.attention = {.dim = kDelightDim,
                                                 .heads = 1,
                                                 .is_causal = published.is_causal,
                                                 .dropout = 0},
                                   .make_attention = attention.make,
                                   .feed_forward = {.dim = kDelightDim,
                                                    .width = kDelightDim / 4,
                                                    .activation = kernels::Activation::kSilu},
                                   .norm = {.dim = kDelightDim, .epsilon = 1e-5},
                                   .norm_placement = published.place,
                                   .dropout = 0});
    fill_in_double(*block);
    const auto x = delight_rows(5).requires_grad_();
    const auto y = block->forward(x, test::context_of({0, 5}));
    expect_published(cosine_weighted_rows(y.detach()), published.output);
    expect_published(cosine_weighted_rows(torch::autograd::grad({cosine_weighted(y)}, {x})[0]),
                     published.gradient);
  }
}

TEST(DelightAttention, UnitsOfAStackGrow) {
  BlockOptions block{.attention = {.dim = kDelightDim, .heads = 1},
                     .make_attention = test::attention_choice("type: delight, groups: 4").make,
                     .feed_forward = {.dim = kDelightDim, .width = 4},
                     .norm = {.dim = kDelightDim}};
  // A decoder whose layers are counted after those of its encoder.
  const Stack stack(StackOptions{.layers = {block, block, block}, .first_layer = 3});
  const auto parameters = stack->named_parameters();
  for (const auto& [layer, depth] : std::vector<std::pair<int, int>>{{0, 4}, {1, 6}, {2, 8}}) {
    const auto name = [&, layer = layer](int index) {
      return std::to_string(layer) + ".attention.dextra.group_linear_" + std::to_string(index) +
             ".group_0.weight";
    };
    EXPECT_TRUE(parameters.contains(name(depth - 1))) << name(depth - 1);
    EXPECT_FALSE(parameters.contains(name(depth))) << name(depth);
  }
}

TEST(DelightAttention, HeadSizesOtherThanThoseOfDimSetTheWidthOfTheUnit) {
  auto options = test::attention_options(false);  // 4 heads, dim 32
  const auto width_of = [&] {
    const auto layer = test::attention_layer("type: delight, groups: 4", options);
    EXPECT_EQ(layer->named_parameters()["attention.output.weight"].size(0), 32);
    return layer->named_parameters()["dextra.input.group_0.weight"].size(0);
  };
  EXPECT_EQ(width_of(), 16);
  options.head_dim = 8;
  EXPECT_EQ(width_of(), 16);
  options.head_dim = 6;
  EXPECT_EQ(width_of(), 24);
}

// Scales of the model are for heads of D / H features.
TEST(DelightAttention, ScalesRefineThatOfTheHeadSize) {
  auto options = test::attention_options(true);
  const std::string keys = "type: delight, groups: 4";
  const auto plain = test::attention_layer(keys, options);
  options.scale = score_scale(options) / 3;
  const auto scaled = test::attention_layer(keys, options);
  const at::NoGradGuard guard;
  for (const std::string name : {"attention.qkv.weight", "attention.qkv.bias"}) {
    plain->named_parameters()[name].slice(0, 0, 16).div_(3);  // the queries
  }
  const auto x = test::attention_tokens(20);
  const auto context = test::context_of({0, 20});
  EXPECT_TRUE(test::near(scaled->forward(x, context), plain->forward(x, context), 1e-6));
}

TEST(DelightAttention, RotatesTheShareOfAHeadThatTheModelDoes) {
  auto options = test::attention_options(true);
  options.rotary = {.width = 4, .theta = 100};  // of 8 features
  const auto layer = test::attention_layer("type: delight, groups: 4", options);
  const auto parameters = layer->named_parameters();
  const auto x = test::attention_tokens(20);
  const auto context = test::context_of({0, 20});
  DextraUnit unit(DextraOptions{.dim = 32, .output = 16, .groups = 4});
  auto inner = options;
  inner.dim = 16;
  inner.output_dim = 32;
  inner.head_dim = 4;
  inner.rotary.width = 2;
  const auto attention = make_full_attention(inner);
  const at::NoGradGuard guard;
  for (auto& parameter : unit->named_parameters()) {
    parameter.value().copy_(parameters["dextra." + parameter.key()]);
  }
  for (auto& parameter : attention->named_parameters()) {
    parameter.value().copy_(parameters["attention." + parameter.key()]);
  }
  EXPECT_TRUE(test::near(layer->forward(x, context),
                         attention->forward(unit->forward(x, context), context)));
}

TEST(DelightAttention, SelectedRowsAndWeightsAreThoseOfAllRows) {
  const auto options = test::attention_options(true);
  const auto layer = test::attention_layer("type: delight, groups: 4", options);
  const auto x = test::attention_tokens(12);
  const auto context = test::context_of({0, 5, 12});
  const auto rows = RowSelection::from_rows({0, 4, 11}, context, 0);
  EXPECT_TRUE(test::near(layer->forward_selected(x, context, rows),
                         rows.select(layer->forward(x, context))));
  const auto weights = layer->weights(x, context);
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_EQ(weights[1].sizes(), (DelightSizes{4, 7, 7}));
  EXPECT_TRUE(test::near(weights[1].sum(2), at::ones({4, 7})));
}

TEST(DelightAttention, EachLayerOfAUnitHasADropoutOfItsOwn) {
  auto options = test::attention_options(false);
  const auto run = [&](int64_t layer, int64_t step, bool is_training) {
    options.layer = layer;
    const auto made =
        test::attention_layer("type: delight, groups: 4, dextra_dropout: 0.3", options);
    auto context = test::context_of({0, 12});
    context.is_training = is_training;
    context.seed = 3;
    context.step = static_cast<uint64_t>(step);
    return made->forward(test::attention_tokens(12), context);
  };
  const auto first = run(1, 5, true);
  EXPECT_TRUE(at::equal(first, run(1, 5, true)));
  EXPECT_FALSE(test::near(first, run(1, 6, true), 1e-3));
  EXPECT_FALSE(test::near(first, run(2, 5, true), 1e-3));
  EXPECT_FALSE(test::near(first, run(1, 5, false), 1e-3));

  // Input and output layers of one width drop different features.
  auto unit_keys = dextra_options(2, 1, false);
  unit_keys.dropout = 0.5;
  DextraUnit unit(unit_keys);
  test::fill_parameters(*unit);
  auto context = test::context_of({0, 40});
  context.is_training = true;
  const auto dropped = unit->forward(delight_rows(40).to(at::kFloat), context) == 0;
  // Were the masks those of the layer before, a dropped feature would be one of a dropped input.
  const auto site = site_id(dextra_sites(3), BlockDropoutSite::kAttentionOutput);
  const auto expected =
      kernels::dropout(at::ones({40, kDelightDim / 2}), 0.5, context.rng_key(site)) == 0;
  EXPECT_TRUE(at::equal(dropped, expected));
}

TEST(DelightAttention, RefusesSizesThatDoNotFit) {
  const auto message_of = [](const std::string& keys, const AttentionOptions& options) {
    return test::message_of<config::Error>(
        [&] { test::attention_choice("type: delight, " + keys).make(options); });
  };
  const auto expect = [&](const std::string& keys, const AttentionOptions& options,
                          const std::string& expected) {
    const auto message = message_of(keys, options);
    EXPECT_NE(message.find(expected), std::string::npos) << keys << ": " << message;
  };
  const auto options = test::attention_options(false);
  expect("depth: [8, 4]", options,
         "attention.depth: found 8 and 4, the second one must not be smaller than the first one");
  expect("depth: [4, 6, 8]", options, "attention.depth: found 3 numbers, expected two");
  expect("depth: [1, 4]", options, "attention.depth");
  expect("depth: [4, 8], scaling: uniform", options,
         "found 4 and 8, the second one must be equal to the first one with scaling: uniform");
  expect("scaling: blok", options, "attention.scaling: 'blok' is not one of block, uniform");
  expect("groups: 6", options, "attention.groups: found 6, allowed are powers of two");
  expect("width: 0.5", options, "attention.width");
  expect("dextra_dropout: 1", options, "attention.dextra_dropout");
  expect("depth: [6, 6]", {.dim = 24, .heads = 1},
         "attention.groups: found 8: the 12 features of the DExTra unit of layer 0 cannot be "
         "divided by 8");
  expect("groups: 2", {.dim = 24, .heads = 8},
         "attention.type: found delight: the 12 features of the DExTra unit of layer 0 cannot be "
         "divided among 8 heads of even width");
  expect("groups: 4", {.dim = 32, .heads = 2, .rotary = {.width = 2, .theta = 100}},
         "rotary positions would rotate 1 of the 8 features");
  // Shallow units do not have all groups.
  EXPECT_NO_THROW(
      test::attention_choice("type: delight, depth: [4, 4]").make({.dim = 24, .heads = 1}));
  EXPECT_NO_THROW(test::attention_choice("type: delight, scaling: uniform").make(options));
}

}  // namespace
}  // namespace weft::nn
