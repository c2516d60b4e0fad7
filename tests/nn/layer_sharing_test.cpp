#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/decoding_state.h"
#include "nn/stack.h"
#include "support/attention.h"
#include "support/context.h"
#include "support/tensors.h"

/// Layers that share their parameters.
namespace weft::nn {
namespace {

constexpr int64_t kSharedDim = 8;

StackOptions shared_layers(int64_t distinct, bool cycles, const std::string& attention = "") {
  const BlockOptions block{
      .attention = {.dim = kSharedDim, .heads = 2, .is_causal = true, .dropout = 0},
      .make_attention = attention.empty() ? AttentionMaker(make_full_attention)
                                          : test::attention_choice(attention).make,
      .feed_forward = {.dim = kSharedDim, .width = 12},
      .norm = {.dim = kSharedDim},
      .norm_placement = NormPlacement::kPre,
      .dropout = 0};
  return {.layers = std::vector(6, block), .layer_groups = distinct, .cycles_layers = cycles};
}

at::Tensor shared_input(int64_t count) {
  return (at::arange(count * kSharedDim, at::kDouble) * 1.7)
      .sin()
      .view({count, kSharedDim})
      .to(at::kFloat);
}

/// A stack without sharing that has the parameters of these layers of the shared one.
std::shared_ptr<StackImpl> unshared(const StackImpl& shared, const std::vector<int64_t>& layers) {
  auto stack = std::make_shared<StackImpl>(shared_layers(0, false));
  const auto parameters = shared.named_parameters();
  const at::NoGradGuard guard;
  for (auto& item : stack->named_parameters()) {
    const auto dot = item.key().find('.');
    const auto layer = layers[std::stoul(item.key().substr(0, dot))];
    item.value().copy_(parameters[std::to_string(layer) + item.key().substr(dot)]);
  }
  return stack;
}

TEST(LayerSharing, GroupsRepeatEachLayerAndCyclesAllInTurn) {
  const auto x = shared_input(7);
  const auto context = test::context_of({0, 2, 7});
  const std::vector<std::pair<bool, std::vector<int64_t>>> cases{{false, {0, 0, 0, 1, 1, 1}},
                                                                 {true, {0, 1, 0, 1, 0, 1}}};
  for (const auto& [cycles, order] : cases) {
    StackImpl stack(shared_layers(2, cycles));
    test::fill_parameters(stack);
    EXPECT_EQ(stack.named_children().size(), 2);
    const auto copies = unshared(stack, order);
    EXPECT_TRUE(test::near(stack.forward(x, context), copies->forward(x, context)));
    // The gradient of a shared parameter is the sum of those of its copies.
    const auto gradient = [&](StackImpl& of, const std::vector<std::string>& names) {
      std::vector<at::Tensor> leaves;
      for (const auto& name : names) {
        leaves.push_back(of.named_parameters()[name + ".feed_forward.up.weight"]);
      }
      const auto found = torch::autograd::grad({of.forward(x, context).square().sum()}, leaves);
      return at::stack(found).sum(0);
    };
    std::vector<std::string> names;
    for (std::size_t layer = 0; layer < order.size(); ++layer) {
      if (order[layer] == 1) {
        names.push_back(std::to_string(layer));
      }
    }
    EXPECT_TRUE(test::near(gradient(stack, {"1"}), gradient(*copies, names), 1e-4));
  }
}

// The layers share their attention, in two groups of three layers; each has its own feed-forward.
TEST(LayerSharing, LayersMayShareSomeSublayersOnly) {
  const auto x = shared_input(7);
  const auto context = test::context_of({0, 2, 7});
  auto options = shared_layers(2, false);
  options.shared_sublayers = {"attention"};
  StackImpl stack(options);
  test::fill_parameters(stack);
  const auto parameters = stack.named_parameters();
  StackImpl copies(shared_layers(0, false));
  std::map<std::string, std::vector<at::Tensor>> copies_of;  // of each parameter
  for (auto& item : copies.named_parameters()) {
    const at::NoGradGuard guard;
    const auto layer = std::stoul(item.key().substr(0, 1));
    const auto rest = item.key().substr(1);
    const bool is_shared = rest.starts_with(".attention.");
    const auto name = (is_shared ? std::to_string(layer / 3 * 3) : std::to_string(layer)) + rest;
    EXPECT_TRUE(parameters[item.key()].is_same(parameters[name])) << item.key();
    EXPECT_EQ(parameters[item.key()].is_same(parameters["0" + rest]),
              is_shared ? layer < 3 : layer == 0);
    item.value().copy_(parameters[name]);
    copies_of[name].push_back(item.value());
  }
  const auto found = stack.forward(x, context);
  const auto wanted = copies.forward(x, context);
  EXPECT_TRUE(test::near(found, wanted));
  found.square().sum().backward();
  wanted.square().sum().backward();
  for (const auto& [name, tensors] : copies_of) {
    auto sum = at::zeros_like(tensors.front());
    for (const auto& tensor : tensors) {
      sum += tensor.grad();
    }
    EXPECT_TRUE(test::near(parameters[name].grad(), sum, 1e-4)) << name;
  }
}

// Dropout of a shared sub-layer is that of the layer in which it runs.
TEST(LayerSharing, SharedSublayersHaveTheDropoutOfTheirLayer) {
  auto options = shared_layers(1, false);
  for (auto& layer : options.layers) {
    layer.attention.dropout = 0.5;
    layer.feed_forward.dropout = 0.5;
  }
  const auto unshared_options = [&] {
    auto own = options;
    own.layer_groups = 0;
    return own;
  }();
  options.shared_sublayers = {"attention", "feed_forward"};
  StackImpl stack(options);
  test::fill_parameters(stack);
  StackImpl copies(unshared_options);
  const auto parameters = stack.named_parameters();
  {
    const at::NoGradGuard guard;
    for (auto& item : copies.named_parameters()) {
      item.value().copy_(parameters[item.key()]);
    }
  }
  auto context = test::context_of({0, 3, 9});
  context.is_training = true;
  const auto x = shared_input(9);
  EXPECT_TRUE(stack.forward(x, context).equal(copies.forward(x, context)));
}

TEST(LayerSharing, DecodingEqualsThePassWithAStateForEachLayer) {
  const auto x = shared_input(9);
  for (const bool shares_all : {true, false}) {
    for (const std::string attention : {"", "type: linear", "type: reformer, chunk: 3, buckets: 2",
                                        "type: lite_transformer, kernel_size: 3"}) {
      auto options = shared_layers(1, true, attention);
      options.shared_sublayers =
          shares_all ? std::vector<std::string>() : std::vector<std::string>{"attention"};
      StackImpl stack(options);
      test::fill_parameters(stack);
      const at::NoGradGuard guard;
      const auto whole = stack.forward(x, test::context_of({0, 9}));
      DecodingState state(1);
      auto context = test::context_of({0, 0});
      context.decoding_state = &state;
      for (int64_t token = 0; token < 9; ++token) {
        context.layout = state.begin_step({1}, at::kCPU);
        EXPECT_TRUE(
            test::near(stack.forward(x.narrow(0, token, 1), context), whole.narrow(0, token, 1)))
            << attention << " " << token;
      }
    }
  }
}

}  // namespace
}  // namespace weft::nn
