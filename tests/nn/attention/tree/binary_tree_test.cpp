#include "nn/attention/tree/binary_tree.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/stack.h"
#include "support/attention.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kTreeDim = 16;
constexpr int64_t kTreeHeads = 2;
constexpr int64_t kTreeHeadDim = kTreeDim / kTreeHeads;

/// arXiv:1911.04070, section 3.1: fine attention nearby, coarse attention far away.
TEST(BinaryTree, CountsItsNodesWithoutTheTree) {
  EXPECT_EQ(BinaryTree::nodes_over(0), 0);
  for (int64_t leaves = 1; leaves < 300; ++leaves) {
    ASSERT_EQ(BinaryTree::nodes_over(leaves), BinaryTree(leaves).nodes());
  }
}

TEST(BinaryTree, TheNodesThatATokenSeesCoverEachTokenOnce) {
  for (int64_t length = 1; length < 300; ++length) {
    const BinaryTree tree(length);
    EXPECT_EQ(BinaryTree::of_nodes(tree.nodes()).leaves(), length);
    for (const int64_t neighbours : {1, 2, 3, 4, 8, 64}) {
      for (int64_t token = 0; token < length; ++token) {
        std::vector<int64_t> covered(static_cast<std::size_t>(length));
        for (const auto& edge : tree.edges(token, neighbours)) {
          const auto [first, last] = tree.span(edge.node);
          for (auto i = first; i < last; ++i) {
            ++covered[static_cast<std::size_t>(i)];
          }
        }
        ASSERT_TRUE(std::ranges::all_of(covered, [](int64_t count) { return count == 1; }))
            << length << " " << neighbours << " " << token;
      }
    }
  }
}

/// About 2 k log2(l / k), of 512 tokens.
TEST(BinaryTree, TheNodesThatATokenSeesAreFew) {
  const BinaryTree tree(512);
  const std::vector<std::pair<int64_t, int64_t>> counts{{1, 18}, {2, 31},   {4, 51},
                                                        {8, 83}, {64, 290}, {512, 512}};
  for (const auto& [neighbours, expected] : counts) {
    int64_t most = 0;
    for (int64_t token = 0; token < 512; ++token) {
      most = std::max(most, std::ssize(tree.edges(token, neighbours)));
    }
    EXPECT_EQ(most, expected) << neighbours;
  }
}

TEST(BinaryTree, OnlyHasTheNodesOfWholeTrees) {
  EXPECT_EQ(BinaryTree(5).nodes(), 5 + 3 + 2 + 1);
  EXPECT_EQ(BinaryTree(5).span(7), (std::pair<int64_t, int64_t>{4, 5}));  // cut at the end
  EXPECT_EQ(BinaryTree(5).span(10), (std::pair<int64_t, int64_t>{0, 5}));
  EXPECT_THROW(BinaryTree::of_nodes(2), c10::Error);
  EXPECT_THROW(BinaryTree(0), c10::Error);
}

at::Tensor tree_tokens(int64_t count) {
  return at::arange(count * kTreeDim, at::kFloat).mul(1.7).sin().view({count, kTreeDim});
}

Stack tree_stack(const std::string& keys, std::size_t layers = 2, double dropout = 0) {
  const BlockOptions block{.attention = {.dim = kTreeDim, .heads = kTreeHeads, .dropout = dropout},
                           .make_attention = test::attention_choice(keys).make,
                           .feed_forward = {.dim = kTreeDim, .width = 12},
                           .norm = {.dim = kTreeDim, .epsilon = 1e-5},
                           .dropout = dropout};
  Stack stack(StackOptions{.layers = std::vector<BlockOptions>(layers, block)});
  test::fill_parameters(*stack, 0.5);
  return stack;
}

void copy_common_parameters(Stack& from, Stack& to) {
  const at::NoGradGuard guard;
  const auto source = from->named_parameters();
  for (auto& parameter : to->named_parameters()) {
    if (const auto* same = source.find(parameter.key())) {
      parameter.value().copy_(*same);
    } else {
      parameter.value().zero_();
    }
  }
}

/// One layer of equations 1 to 4 of arXiv:1911.04070, node by node.
TEST(BinaryTreeAttention, FollowsItsFormula) {
  constexpr int64_t kTokens = 7;
  constexpr int64_t kNeighbours = 1;
  constexpr int64_t kClip = 1;
  auto stack = tree_stack("type: binary_tree, neighbours: 1, clip: 1", 1);
  const auto parameters = stack->named_parameters();
  const auto x = tree_tokens(kTokens);
  const BinaryTree tree(kTokens);
  const auto rows = at::cat({x, at::zeros({tree.nodes() - kTokens, kTreeDim})});
  const auto qkv =
      at::linear(rows, parameters["0.attention.qkv.weight"], parameters["0.attention.qkv.bias"])
          .view({-1, 3, kTreeHeads, kTreeHeadDim});
  const auto& edge_keys = parameters["0.attention.core.dense.edges.keys"];  // (kinds, K)
  ASSERT_EQ(edge_keys.size(0), (kClip + 1) * (2 * kNeighbours + 1));
  auto mixed = at::empty({tree.nodes(), kTreeHeads, kTreeHeadDim});
  for (int64_t node = 0; node < tree.nodes(); ++node) {
    std::vector<at::Tensor> keys;
    std::vector<at::Tensor> values;
    for (const auto& edge : tree.edges(node, kNeighbours)) {
      const auto kind = std::min(edge.level, kClip) * (2 * kNeighbours + 1) + edge.ordinal;
      keys.push_back(qkv[edge.node][1] + edge_keys[kind]);
      values.push_back(qkv[edge.node][2]);
    }
    const auto scores = (at::stack(keys) * qkv[node][0]).sum(-1) / std::sqrt(kTreeHeadDim);
    mixed[node] = (scores.softmax(0).unsqueeze(-1) * at::stack(values)).sum(0);
  }
  const auto norm = [&](const at::Tensor& of, const std::string& name) {
    return at::layer_norm(of, {kTreeDim}, parameters[name + ".weight"], parameters[name + ".bias"],
                          1e-5);
  };
  const auto linear = [&](const at::Tensor& of, const std::string& name) {
    return at::linear(of, parameters[name + ".weight"], parameters[name + ".bias"]);
  };
  auto y = norm(rows + linear(mixed.flatten(1), "0.attention.output"), "0.attention_norm");
  y = norm(y + linear(at::gelu(linear(y, "0.feed_forward.up")), "0.feed_forward.down"),
           "0.feed_forward_norm");
  EXPECT_TRUE(
      test::near(stack->forward(x, test::context_of({0, kTokens})), y.slice(0, 0, kTokens), 1e-5));
}

/// With so many neighbours a token sees all tokens and no span.
TEST(BinaryTreeAttention, OfManyNeighboursIsFullAttention) {
  auto full = tree_stack("type: full");
  const auto x = tree_tokens(20);
  const auto context = test::context_of({0, 1, 3, 20});
  const auto expected = full->forward(x, context);
  for (const std::string keys : {"neighbours: 17", "neighbours: 17, relative: false"}) {
    auto tree = tree_stack("type: binary_tree, " + keys);
    copy_common_parameters(full, tree);
    EXPECT_TRUE(test::near(tree->forward(x, context), expected, 1e-5)) << keys;
  }
  auto fewer = tree_stack("type: binary_tree, neighbours: 2");
  copy_common_parameters(full, fewer);
  EXPECT_FALSE(test::near(fewer->forward(x, context), expected, 1e-5));
}

/// Groups of rows (without vectors of the edges) and all scores.
TEST(BinaryTreeAttention, OfZeroVectorsIsThatWithoutThem) {
  auto plain = tree_stack("type: binary_tree, neighbours: 2, relative: false");
  auto relative = tree_stack("type: binary_tree, neighbours: 2");
  const auto x = tree_tokens(40);
  const auto context = test::context_of({0, 33, 40});
  EXPECT_FALSE(test::near(relative->forward(x, context), plain->forward(x, context), 1e-3));
  copy_common_parameters(plain, relative);
  EXPECT_TRUE(test::near(relative->forward(x, context), plain->forward(x, context), 1e-5));
}

TEST(BinaryTreeAttention, ASequenceAloneIsTheSameInABatch) {
  for (const std::string keys : {"relative: true", "relative: false"}) {
    auto stack = tree_stack("type: binary_tree, neighbours: 1, " + keys);
    const std::vector<int64_t> offsets{0, 7, 8, 72, 74, 107};
    const auto run = [&](const at::Tensor& x, const ForwardContext& context) {
      const auto leaf = x.clone().requires_grad_();
      const auto y = stack->forward(leaf, context);
      (y * (context.layout.positions.unsqueeze(1) * 1.3 + at::arange(kTreeDim)).cos())
          .sum()
          .backward();
      return std::pair{y.detach(), leaf.grad()};
    };
    const auto x = tree_tokens(offsets.back());
    const auto [y, gradient] = run(x, test::context_of(offsets));
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const auto own = [&](const at::Tensor& of) {
        return of.slice(0, offsets[b], offsets[b + 1]);
      };
      const auto [alone, own_gradient] =
          run(own(x), test::context_of({0, offsets[b + 1] - offsets[b]}));
      EXPECT_TRUE(test::near(alone, own(y), 1e-5)) << keys << b;
      EXPECT_TRUE(test::near(own_gradient, own(gradient), 1e-4)) << keys << b;
    }
  }
}

/// Spans start without content: a layer fills them, the next one reads them.
TEST(BinaryTreeAttention, FarTokensAreReachedThroughSpans) {
  for (const std::size_t layers : {1U, 2U}) {
    auto stack = tree_stack("type: binary_tree, neighbours: 1", layers);
    const auto x = tree_tokens(64);
    const auto context = test::context_of({0, 64});
    auto edited = x.clone();
    edited[63] += 3;
    const auto change =
        (stack->forward(edited, context)[0] - stack->forward(x, context)[0]).abs().max();
    EXPECT_EQ(change.item<double>() > 1e-5, layers == 2);
  }
}

TEST(BinaryTreeAttention, DropoutDoesNotDependOnTheMicroBatches) {
  auto stack = tree_stack("type: binary_tree, neighbours: 1", 2, 0.3);
  const auto x = tree_tokens(12);
  auto whole = test::context_of({0, 3, 5, 12});
  whole.is_training = true;
  auto last = test::context_of({0, 7});
  last.is_training = true;
  last.first_row = 5;
  last.first_sequence = 2;
  last.earlier_lengths = std::vector<int64_t>{3, 2};
  EXPECT_TRUE(
      test::near(stack->forward(x.slice(0, 5), last), stack->forward(x, whole).slice(0, 5), 1e-6));
  auto again = last;
  again.recomputes_layers = true;
  EXPECT_TRUE(at::equal(stack->forward(x.slice(0, 5), again), stack->forward(x.slice(0, 5), last)));
}

TEST(BinaryTreeAttention, OfSelectedRowsEqualsTheirRows) {
  auto stack = tree_stack("type: binary_tree");
  const auto x = tree_tokens(9);
  const auto context = test::context_of({0, 4, 9});
  const auto rows = RowSelection::from_rows({0, 6, 8}, context, 0);
  EXPECT_TRUE(at::equal(stack->forward_selected(x, context, rows),
                        rows.select(stack->forward(x, context))));
}

TEST(BinaryTreeAttention, IsRefusedWhereItIsNotPossible) {
  const auto message = [](const AttentionOptions& options) {
    return test::message_of<config::Error>(
        [&] { test::attention_choice("type: binary_tree").make(options); });
  };
  AttentionOptions options{.dim = kTreeDim, .heads = kTreeHeads, .is_causal = true};
  EXPECT_NE(message(options).find("changes while it is generated"), std::string::npos);
  options.is_causal = false;
  options.has_distance_bias = true;
  EXPECT_NE(message(options).find("positions by distance"), std::string::npos);
  BlockOptions block{.attention = {.dim = kTreeDim, .heads = kTreeHeads},
                     .feed_forward = {.dim = kTreeDim, .width = 12},
                     .norm = {.dim = kTreeDim}};
  auto tree = block;
  tree.make_attention = test::attention_choice("type: binary_tree").make;
  const auto mixed = test::message_of<config::Error>([&] {
    Stack(StackOptions{.layers = {block, tree}});
  });
  EXPECT_NE(mixed.find("of all layers"), std::string::npos) << mixed;
}

}  // namespace
}  // namespace weft::nn
