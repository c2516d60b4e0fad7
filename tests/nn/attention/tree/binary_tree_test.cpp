#include "nn/attention/tree/binary_tree.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/decoding_state.h"
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

TEST(CausalBinaryTree, NodesFollowTheirLastTokens) {
  int64_t node = 0;
  for (int64_t token = 0; token < 300; ++token) {
    ASSERT_EQ(CausalBinaryTree::nodes_over(token), node);
    for (int64_t width = 1; (token + 1) % width == 0; width *= 2, ++node) {
      ASSERT_EQ(CausalBinaryTree::span(node), (std::pair{token + 1 - width, token + 1}));
    }
  }
}

/// So that no order of edits lets a token see a later one: the nodes that a node sees are before
/// it, and cover its past, or its own tokens, once.
TEST(CausalBinaryTree, TheNodesThatANodeSeesCoverEachEarlierTokenOnce) {
  for (const int64_t neighbours : {1, 2, 3, 4, 8, 64}) {
    for (int64_t node = 0; node < CausalBinaryTree::nodes_over(300); ++node) {
      const auto [begin, end] = CausalBinaryTree::span(node);
      const bool is_token = end == begin + 1 && CausalBinaryTree::nodes_over(begin) == node;
      std::vector<int64_t> covered(static_cast<std::size_t>(end));
      for (const auto& edge : CausalBinaryTree::edges(node, neighbours)) {
        ASSERT_LE(edge.node, node);
        const auto [first, last] = CausalBinaryTree::span(edge.node);
        ASSERT_LE(last, end);
        for (auto i = first; i < last; ++i) {
          ++covered[static_cast<std::size_t>(i)];
        }
      }
      for (int64_t i = 0; i < end; ++i) {
        ASSERT_EQ(covered[static_cast<std::size_t>(i)], is_token || i >= begin ? 1 : 0)
            << neighbours << " " << node << " " << i;
      }
    }
  }
}

/// A token sees the nodes on its left that it also sees in the tree over the whole text.
TEST(CausalBinaryTree, TokensSeeTheLeftOfTheirTree) {
  const BinaryTree tree(200);
  for (const int64_t neighbours : {1, 3}) {
    for (int64_t token = 0; token < 200; ++token) {
      std::vector<std::pair<int64_t, int64_t>> left;
      for (const auto& edge : tree.edges(token, neighbours)) {
        if (tree.span(edge.node).first <= token) {
          left.push_back(tree.span(edge.node));
        }
      }
      std::vector<std::pair<int64_t, int64_t>> causal;
      for (const auto& edge :
           CausalBinaryTree::edges(CausalBinaryTree::nodes_over(token), neighbours)) {
        causal.push_back(CausalBinaryTree::span(edge.node));
      }
      std::ranges::sort(left);
      std::ranges::sort(causal);
      ASSERT_EQ(causal, left) << neighbours << " " << token;
    }
  }
}

at::Tensor tree_tokens(int64_t count) {
  return at::arange(count * kTreeDim, at::kFloat).mul(1.7).sin().view({count, kTreeDim});
}

Stack tree_stack(const std::string& keys,
                 std::size_t layers = 2,
                 double dropout = 0,
                 bool is_causal = false,
                 NormPlacement place = NormPlacement::kPost) {
  const BlockOptions block{.attention = {.dim = kTreeDim,
                                         .heads = kTreeHeads,
                                         .is_causal = is_causal,
                                         .dropout = dropout},
                           .make_attention = test::attention_choice(keys).make,
                           .feed_forward = {.dim = kTreeDim, .width = 12},
                           .norm = {.dim = kTreeDim, .epsilon = 1e-5},
                           .norm_placement = place,
                           .dropout = dropout};
  Stack stack(StackOptions{.layers = std::vector<BlockOptions>(layers, block)});
  test::fill_parameters(*stack, 0.5);
  return stack;
}

Stack causal_stack(const std::string& keys, std::size_t layers = 2, double dropout = 0) {
  return tree_stack(keys, layers, dropout, /*is_causal=*/true);
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
  for (const bool is_causal : {false, true}) {
    auto stack = tree_stack("type: binary_tree, neighbours: 1, clip: 1", 1, 0, is_causal);
    const auto parameters = stack->named_parameters();
    const auto x = tree_tokens(kTokens);
    const BinaryTree tree(kTokens);
    const auto nodes = is_causal ? CausalBinaryTree::nodes_over(kTokens) : tree.nodes();
    std::vector<int64_t> tokens;
    for (int64_t token = 0; token < kTokens; ++token) {
      tokens.push_back(is_causal ? CausalBinaryTree::nodes_over(token) : token);
    }
    const auto places = at::tensor(tokens, at::kLong);
    const auto rows = at::zeros({nodes, kTreeDim}).index_copy(0, places, x);
    const auto qkv =
        at::linear(rows, parameters["0.attention.qkv.weight"], parameters["0.attention.qkv.bias"])
            .view({-1, 3, kTreeHeads, kTreeHeadDim});
    const auto& edge_keys = parameters["0.attention.core.edge_vectors"];  // (kinds, K)
    ASSERT_EQ(edge_keys.size(0), (kClip + 1) * (2 * kNeighbours + 1));
    auto mixed = at::empty({nodes, kTreeHeads, kTreeHeadDim});
    for (int64_t node = 0; node < nodes; ++node) {
      std::vector<at::Tensor> keys;
      std::vector<at::Tensor> values;
      for (const auto& edge :
           is_causal ? CausalBinaryTree::edges(node, kNeighbours) : tree.edges(node, kNeighbours)) {
        const auto kind = std::min(edge.level, kClip) * (2 * kNeighbours + 1) + edge.ordinal;
        keys.push_back(qkv[edge.node][1] + edge_keys[kind]);
        values.push_back(qkv[edge.node][2]);
      }
      const auto scores = (at::stack(keys) * qkv[node][0]).sum(-1) / std::sqrt(kTreeHeadDim);
      mixed[node] = (scores.softmax(0).unsqueeze(-1) * at::stack(values)).sum(0);
    }
    const auto norm = [&](const at::Tensor& of, const std::string& name) {
      return at::layer_norm(of, {kTreeDim}, parameters[name + ".weight"],
                            parameters[name + ".bias"], 1e-5);
    };
    const auto linear = [&](const at::Tensor& of, const std::string& name) {
      return at::linear(of, parameters[name + ".weight"], parameters[name + ".bias"]);
    };
    auto y = norm(rows + linear(mixed.flatten(1), "0.attention.output"), "0.attention_norm");
    y = norm(y + linear(at::gelu(linear(y, "0.feed_forward.up")), "0.feed_forward.down"),
             "0.feed_forward_norm");
    EXPECT_TRUE(test::near(stack->forward(x, test::context_of({0, kTokens})),
                           y.index_select(0, places), 1e-5));
  }
}

/// With so many neighbours a token sees all tokens and no span.
TEST(BinaryTreeAttention, OfManyNeighboursIsFullAttention) {
  for (const bool is_causal : {false, true}) {
    auto full = tree_stack("type: full", 2, 0, is_causal);
    const auto x = tree_tokens(20);
    const auto context = test::context_of({0, 1, 3, 20});
    const auto expected = full->forward(x, context);
    for (const std::string keys : {"neighbours: 17", "neighbours: 17, relative: false"}) {
      auto tree = tree_stack("type: binary_tree, " + keys, 2, 0, is_causal);
      copy_common_parameters(full, tree);
      EXPECT_TRUE(test::near(tree->forward(x, context), expected, 1e-5)) << keys;
    }
    auto fewer = tree_stack("type: binary_tree, neighbours: 2", 2, 0, is_causal);
    copy_common_parameters(full, fewer);
    EXPECT_FALSE(test::near(fewer->forward(x, context), expected, 1e-5));
  }
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

// Edits a token and runs again, deep enough for every path through the spans. The norms are in
// front of the sub-layers: so no difference is lost on its way.
TEST(CausalBinaryTreeAttention, TheFutureIsInvisible) {
  for (const std::string keys : {"neighbours: 1", "neighbours: 3, relative: false"}) {
    auto stack =
        tree_stack("type: binary_tree, " + keys, 3, 0, /*is_causal=*/true, NormPlacement::kPre);
    const auto x = tree_tokens(71);
    const auto before = stack->forward(x, test::context_of({0, 71}));
    for (const int64_t token : {1, 32, 63, 70}) {
      auto edited = x.clone();
      edited[token] = edited[token] * 4 + 1;
      const auto after = stack->forward(edited, test::context_of({0, 71}));
      EXPECT_TRUE(at::equal(after.slice(0, 0, token), before.slice(0, 0, token))) << token;
      for (auto later = token; later < 71; ++later) {
        EXPECT_FALSE(at::equal(after[later], before[later])) << token << ", " << later;
      }
    }
    const auto begin = stack->forward(x.slice(0, 0, 45), test::context_of({0, 45}));
    EXPECT_TRUE(test::near(begin, before.slice(0, 0, 45), 1e-5));
  }
}

TEST(CausalBinaryTreeAttention, ASequenceAloneIsTheSameInABatch) {
  auto stack = causal_stack("type: binary_tree, neighbours: 1", 3);
  const std::vector<int64_t> offsets{0, 7, 8, 72, 74, 107};
  const auto x = tree_tokens(offsets.back());
  const auto together = stack->forward(x, test::context_of(offsets));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto alone = stack->forward(x.slice(0, offsets[b], offsets[b + 1]),
                                      test::context_of({0, offsets[b + 1] - offsets[b]}));
    EXPECT_TRUE(test::near(together.slice(0, offsets[b], offsets[b + 1]), alone, 1e-5)) << b;
  }
}

TEST(CausalBinaryTreeAttention, DropoutDoesNotDependOnTheMicroBatches) {
  auto stack = causal_stack("type: binary_tree, neighbours: 1", 2, 0.3);
  const auto x = tree_tokens(12);
  auto whole = test::context_of({0, 3, 5, 12});
  auto last = test::context_of({0, 7});
  whole.is_training = last.is_training = true;
  last.first_row = 5;
  last.first_sequence = 2;
  last.earlier_lengths = std::vector<int64_t>{3, 2};
  EXPECT_TRUE(
      test::near(stack->forward(x.slice(0, 5), last), stack->forward(x, whole).slice(0, 5), 1e-6));
}

/// Sequences of different lengths, which change places and forget tokens.
TEST(CausalBinaryTreeAttention, DecodesWhatOnePassComputes) {
  const at::NoGradGuard guard;
  for (const std::string keys : {"relative: true", "relative: false"}) {
    auto stack = causal_stack("type: binary_tree, neighbours: 1, " + keys, 3);
    const auto x = tree_tokens(60);
    std::vector<int64_t> begins{0, 33};  // of the two sequences in x
    const auto whole = stack->forward(x, test::context_of({0, 33, 60}));
    DecodingState state(2);
    auto context = test::context_of({0, 0, 0});
    context.decoding_state = &state;
    const auto pass = [&](const std::vector<int64_t>& counts) {
      std::vector<at::Tensor> rows;
      std::vector<at::Tensor> expected;
      for (std::size_t b = 0; b < counts.size(); ++b) {
        const auto first = begins[b] + state.lengths()[b];
        rows.push_back(x.slice(0, first, first + counts[b]));
        expected.push_back(whole.slice(0, first, first + counts[b]));
      }
      context.layout = state.begin_step(counts, at::kCPU);
      EXPECT_TRUE(test::near(stack->forward(at::cat(rows), context), at::cat(expected), 1e-5))
          << keys << ", " << state.lengths()[0];
    };
    pass({9, 4});
    pass({1, 1});
    state.reorder({1, 0});
    begins = {33, 0};
    pass({1, 1});
    state.mark();
    pass({3, 3});
    state.truncate({state.lengths()[0] - 2, state.lengths()[1] - 1});
    pass({4, 5});
    state.reorder({1});
    begins = {0};
    for (int64_t i = 0; i < 12; ++i) {
      pass({1});
    }
  }
}

/// Spans start without content: a layer fills them, the next one reads them.
TEST(BinaryTreeAttention, FarTokensAreReachedThroughSpans) {
  for (const std::size_t layers : {1U, 2U}) {
    for (const bool is_causal : {false, true}) {
      auto stack = tree_stack("type: binary_tree, neighbours: 1", layers, 0, is_causal);
      const auto x = tree_tokens(64);
      const auto context = test::context_of({0, 64});
      auto edited = x.clone();
      edited[is_causal ? 0 : 63] += 3;
      const auto last = is_causal ? 63 : 0;
      const auto change =
          (stack->forward(edited, context)[last] - stack->forward(x, context)[last]).abs().max();
      EXPECT_EQ(change.item<double>() > 1e-5, layers == 2);
    }
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
  AttentionOptions options{.dim = kTreeDim, .heads = kTreeHeads};
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
