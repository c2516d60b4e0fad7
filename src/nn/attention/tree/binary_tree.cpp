#include "nn/attention/tree/binary_tree.h"

#include <algorithm>
#include <bit>

#include <c10/util/Exception.h>

namespace weft::nn {

namespace {

/// The spans to the left of a token, by level and index in the level, nearest first. A node whose
/// parent also covers a token that another span has covered is taken in place of the parent, on the
/// level below.
template <class Add>
void walk_left(int64_t token, int64_t neighbours, const Add& add) {
  int64_t left = token - 1;
  bool takes_child = false;
  for (int64_t level = 0; left >= 0; ++level) {
    for (int64_t k = 0; k < neighbours && left >= 0; ++k, --left) {
      const BinaryTree::Edge edge{.level = level, .ordinal = 2 * k + 1};
      if (k == 0 && takes_child) {
        add(level - 1, 2 * left, edge);
      } else {
        add(level, left, edge);
      }
    }
    takes_child = left >= 0 && left % 2 == 0;
    left >>= 1;
  }
}

/// The token at the end of a node of CausalBinaryTree, and the node's level.
std::pair<int64_t, int64_t> end_and_level(int64_t node) {
  int64_t token = node / 2;  // 2 t - popcount(t) nodes come before token t
  while (CausalBinaryTree::nodes_over(token + 1) <= node) {
    ++token;
  }
  return {token, node - CausalBinaryTree::nodes_over(token)};
}

}  // namespace

BinaryTree::BinaryTree(int64_t leaves) : sizes_{leaves}, begins_{0} {
  TORCH_CHECK(leaves > 0, "a tree over ", leaves, " tokens");
  while (sizes_.back() > 1) {
    begins_.push_back(begins_.back() + sizes_.back());
    sizes_.push_back((sizes_.back() + 1) / 2);
  }
}

BinaryTree BinaryTree::of_nodes(int64_t nodes) {
  // A longer sequence has more nodes.
  int64_t fewest = 1;
  int64_t most = std::max<int64_t>(1, nodes);
  while (fewest < most) {
    const auto middle = (fewest + most) / 2;
    if (nodes_over(middle) < nodes) {
      fewest = middle + 1;
    } else {
      most = middle;
    }
  }
  BinaryTree tree(fewest);
  TORCH_CHECK(tree.nodes() == nodes, "no tree has ", nodes,
              " nodes: this attention is for stacks that add the nodes to the tokens");
  return tree;
}

int64_t BinaryTree::nodes() const { return begins_.back() + sizes_.back(); }

int64_t BinaryTree::nodes_over(int64_t leaves) {
  auto nodes = leaves;
  for (auto size = leaves; size > 1;) {
    size = (size + 1) / 2;
    nodes += size;
  }
  return nodes;
}

int64_t BinaryTree::level_of(int64_t node) const {
  return std::ranges::upper_bound(begins_, node) - begins_.begin() - 1;
}

std::pair<int64_t, int64_t> BinaryTree::span(int64_t node) const {
  const auto level = level_of(node);
  const auto index = node - begins_[static_cast<std::size_t>(level)];
  return {index << level, std::min(leaves(), (index + 1) << level)};
}

void BinaryTree::add_edge(std::vector<Edge>& edges, int64_t level, int64_t index, Edge edge) const {
  const auto at = static_cast<std::size_t>(level);
  if (index >= 0 && index < sizes_[at]) {
    edge.node = begins_[at] + index;
    edges.push_back(edge);
  }
}

std::vector<BinaryTree::Edge> BinaryTree::edges(int64_t node, int64_t neighbours) const {
  std::vector<Edge> edges;
  if (node >= leaves()) {
    const auto [first, last] = span(node);
    const auto level = level_of(node);
    for (auto token = first; token < last; ++token) {
      edges.push_back({.node = token, .level = level});
    }
    return edges;
  }
  edges.push_back({.node = node});
  walk_left(node, neighbours, [&](int64_t level, int64_t index, const Edge& edge) {
    add_edge(edges, level, index, edge);
  });
  // The same to the right, where the text may end within a node.
  int64_t right = node + 1;
  bool takes_child = false;
  for (int64_t level = 0; level < levels(); ++level) {
    for (int64_t k = 0; k < neighbours; ++k, ++right) {
      const Edge edge{.level = level, .ordinal = 2 * k + 2};
      if (k == 0 && takes_child) {
        add_edge(edges, level - 1, 2 * right + 1, edge);
      } else {
        add_edge(edges, level, right, edge);
      }
    }
    takes_child = right % 2 == 1;
    right >>= 1;
  }
  return edges;
}

int64_t CausalBinaryTree::nodes_over(int64_t leaves) {
  return 2 * leaves - std::popcount(static_cast<uint64_t>(leaves));
}

std::pair<int64_t, int64_t> CausalBinaryTree::span(int64_t node) {
  const auto [end, level] = end_and_level(node);
  return {end + 1 - (int64_t{1} << level), end + 1};
}

std::vector<BinaryTree::Edge> CausalBinaryTree::edges(int64_t node, int64_t neighbours) {
  const auto [end, level] = end_and_level(node);
  std::vector<BinaryTree::Edge> edges;
  if (level > 0) {
    for (auto token = end + 1 - (int64_t{1} << level); token <= end; ++token) {
      edges.push_back({.node = nodes_over(token), .level = level});
    }
    return edges;
  }
  edges.push_back({.node = node});
  walk_left(end, neighbours, [&](int64_t at, int64_t index, BinaryTree::Edge edge) {
    edge.node = nodes_over(((index + 1) << at) - 1) + at;
    edges.push_back(edge);
  });
  return edges;
}

}  // namespace weft::nn
