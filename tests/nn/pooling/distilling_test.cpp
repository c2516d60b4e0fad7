#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention.h"
#include "nn/position/position.h"
#include "nn/stack.h"
#include "nn/sublayer.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/formula_values.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kDistilledDim = 8;
using Lengths = std::vector<int64_t>;

SublayerDefinition::Maker distilling_maker(const std::string& keys) {
  const auto document = config::Document::parse("{" + keys + "}", "test.yaml");
  auto section = document.root();
  return read_distilling(section);
}

BlockOptions distilled_block(const std::string& order, const std::string& keys = "") {
  return {.order = order,
          .attention = {.dim = kDistilledDim, .heads = 2, .dropout = 0},
          .feed_forward = {.dim = kDistilledDim, .width = 12, .dropout = 0},
          .make_sublayer = {{"distilling", distilling_maker(keys)}},
          .norm = {.dim = kDistilledDim, .epsilon = 1e-5},
          .dropout = 0};
}

std::shared_ptr<Sublayer> distilling_layer(const std::string& keys) {
  auto layer = distilling_maker(keys)(distilled_block("d"));
  test::fill_parameters(*layer);
  return layer;
}

/// Two layers that end in distilling, and one that does not.
Stack distilling_stack(const std::string& keys = "", double dropout = 0) {
  StackOptions options{
      .layers = {distilled_block("afd", keys), distilled_block("afd", keys), distilled_block("af")},
      .may_shorten = true};
  for (auto& layer : options.layers) {
    layer.dropout = dropout;
  }
  auto section = test::section("model.position");
  options.positions = {position_types().at("t5").read(section)({.heads = 2})};
  Stack stack(options);
  test::fill_parameters(*stack);
  return stack;
}

at::Tensor distilled_input(int64_t count) {
  return test::formula_values(0, {count, kDistilledDim});
}

/// Of rows (L, D) of one text, with LibTorch's own operations.
at::Tensor distilled_by_libtorch(const at::Tensor& x, const Sublayer& layer, bool is_published) {
  const auto parameters = layer.named_parameters();
  const auto kernel = parameters["convolution.weight"].view({kDistilledDim, 3, kDistilledDim});
  const auto rows = x.t().unsqueeze(0);
  const auto padded =
      is_published ? at::cat({rows.narrow(2, rows.size(2) - 1, 1), rows, rows.narrow(2, 0, 1)}, 2)
                   : at::constant_pad_nd(rows, {1, 1});
  const auto mixed =
      at::conv1d(padded, kernel.transpose(1, 2), parameters["convolution.bias"]);  // (1, D, L)
  const auto& weight = parameters["norm.weight"];
  const auto& bias = parameters["norm.bias"];
  const auto normed =
      is_published
          ? at::batch_norm(mixed, weight, bias, {}, {}, /*training=*/true, 0.1, 1e-5, false)
          : at::layer_norm(mixed.transpose(1, 2), {kDistilledDim}, weight, bias, 1e-5)
                .transpose(1, 2);
  return at::max_pool1d(at::elu(normed), 3, 2, 1).squeeze(0).t();
}

TEST(Distilling, EqualsTheLayersOfLibTorch) {
  for (const bool is_published : {true, false}) {
    const auto layer =
        distilling_layer(is_published ? "norm: instance, padding_mode: circular" : "");
    for (const int64_t length : {2, 3, 6, 7, 20}) {
      const auto x = distilled_input(length).requires_grad_();
      const auto y = layer->forward(x, test::context_of({0, length}));
      const auto expected = distilled_by_libtorch(x, *layer, is_published);
      ASSERT_EQ(y.size(0), (length + 1) / 2);
      EXPECT_TRUE(test::near(y, expected, 1e-5)) << length;
      auto inputs = layer->parameters();
      inputs.push_back(x);
      const auto weights = at::arange(y.numel(), at::kFloat).cos().view_as(y);
      const auto own = torch::autograd::grad({(y * weights).sum()}, inputs);
      const auto others = torch::autograd::grad({(expected * weights).sum()}, inputs);
      for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_TRUE(test::near(own[i], others[i], 1e-4)) << length << ", input " << i;
      }
    }
  }
}

TEST(Distilling, OneTokenHasFiniteGradients) {
  for (const auto* keys : {"", "norm: instance", "norm: instance, padding_mode: circular"}) {
    const auto layer = distilling_layer(keys);
    const auto x = distilled_input(1).requires_grad_();
    const auto y = layer->forward(x, test::context_of({0, 1}));
    EXPECT_EQ(y.size(0), 1);
    const auto gradient = torch::autograd::grad({y.sum()}, {x})[0];
    EXPECT_TRUE(y.isfinite().all().item<bool>() && gradient.isfinite().all().item<bool>()) << keys;
  }
}

TEST(Distilling, TheContextIsThatOfTheRemainingRows) {
  auto context = test::context_of({0, 1, 3, 6, 10});
  context.token_types = at::tensor({5, 0, 1, 2, 3, 4, 6, 7, 8, 9}, at::kLong);
  context.first_row = 9;
  context.earlier_lengths = Lengths{1, 3, 5};
  const auto after = distilling_layer("")->context_after(context);
  EXPECT_EQ(after.layout.offsets, (Lengths{0, 1, 2, 4, 6}));
  EXPECT_EQ(after.stride, 2);
  EXPECT_TRUE(at::equal(after.token_types, at::tensor({5, 0, 2, 4, 6, 8}, at::kLong)));
  EXPECT_EQ(*after.earlier_lengths, (Lengths{1, 2, 3}));
  EXPECT_EQ(after.first_row, 6);
}

TEST(Distilling, ATextAloneIsAsInCompany) {
  for (const auto* keys : {"", "norm: instance, padding_mode: circular"}) {
    auto stack = distilling_stack(keys);
    const Lengths lengths{1, 2, 7, 33, 64};
    Lengths offsets{0};
    for (const auto length : lengths) {
      offsets.push_back(offsets.back() + length);
    }
    const auto context = test::context_of(offsets);
    const auto x = distilled_input(offsets.back()).requires_grad_();
    const auto all = stack->forward(x, context);
    const auto after = stack->context_after(context).layout;
    EXPECT_EQ(after.offsets, (Lengths{0, 1, 2, 4, 13, 29}));
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      const auto alone = x.detach().narrow(0, offsets[b], lengths[b]).requires_grad_();
      const auto y = stack->forward(alone, test::context_of({0, lengths[b]}));
      const auto own = all.narrow(0, after.offsets[b], y.size(0));
      EXPECT_TRUE(test::near(own, y, 1e-5)) << keys << ", text " << b;
      const auto gradient =
          torch::autograd::grad({own.square().sum()}, {x}, {}, /*retain_graph=*/true)[0];
      EXPECT_TRUE(test::near(gradient.narrow(0, offsets[b], lengths[b]),
                             torch::autograd::grad({y.square().sum()}, {alone})[0], 1e-4))
          << keys << ", text " << b;
      EXPECT_EQ(gradient.narrow(0, 0, offsets[b]).count_nonzero().item<int64_t>(), 0);
    }
  }
}

TEST(Distilling, SelectedRowsAreThoseOfAllRows) {
  for (const auto* last : {"af", "afd", "adf", "daf"}) {
    StackOptions options{.layers = {distilled_block("afd"), distilled_block(last)},
                         .may_shorten = true};
    for (auto& layer : options.layers) {
      layer.make_attention = test::attention_choice("type: informer, factor: 1").make;
    }
    Stack stack(options);
    test::fill_parameters(*stack);
    const auto context = test::context_of({0, 1, 10, 16});
    const auto x = distilled_input(16);
    const auto all = stack->forward(x, context);
    const auto first = RowSelection::first_tokens(stack->context_after(context));
    EXPECT_TRUE(test::near(stack->forward_selected(x, context, first), first.select(all))) << last;
  }
}

TEST(Distilling, RecomputedLayersAreTheSame) {
  auto stack = distilling_stack("norm: instance", /*dropout=*/0.3);
  auto context = test::context_of({0, 9, 12});
  context.is_training = true;
  const auto pass = [&](bool recomputes) {
    context.recomputes_layers = recomputes;
    const auto x = distilled_input(12).requires_grad_();
    const auto y = stack->forward(x, context);
    return std::pair(y, torch::autograd::grad({y.square().sum()}, {x})[0]);
  };
  const auto [kept, kept_gradient] = pass(false);
  const auto [again, again_gradient] = pass(true);
  EXPECT_TRUE(at::equal(kept, again));
  EXPECT_TRUE(at::equal(kept_gradient, again_gradient));
}

TEST(Distilling, DropoutDoesNotDependOnTheSplitIntoMicroBatches) {
  auto stack = distilling_stack("", /*dropout=*/0.3);
  auto context = test::context_of({0, 3, 8, 15});
  context.is_training = true;
  const auto x = distilled_input(15);
  const auto all = stack->forward(x, context);
  auto second = test::context_of({0, 7});
  second.is_training = true;
  second.first_row = 8;
  second.first_sequence = 2;
  second.earlier_lengths = Lengths{3, 5};
  EXPECT_TRUE(test::near(stack->forward(x.narrow(0, 8, 7), second), all.narrow(0, 3, 2), 1e-6));
}

TEST(Distilling, ModelsThatNeedAllTokensRefuseIt) {
  StackOptions options{.layers = {distilled_block("afd")}};
  EXPECT_EQ(test::message_of<config::Error>([&] { Stack stack(options); }),
            "model.block: only classifiers of whole texts by an encoder, without early_exit, can "
            "have d (distilling, which halves the lengths of texts): others need a state of each "
            "token");
}

TEST(Distilling, WrongKeysAreRefused) {
  EXPECT_NE(test::message_of<config::Error>([] {
              distilling_maker("norm: batch");
            }).find("norm: 'batch' is not one of model, instance"),
            std::string::npos);
  EXPECT_NE(test::message_of<config::Error>([] {
              distilling_maker("padding_mode: reflect");
            }).find("padding_mode: 'reflect' is not one of zeros, circular"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::nn
