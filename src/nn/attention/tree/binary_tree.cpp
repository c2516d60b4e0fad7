#include "nn/attention/tree/binary_tree.h"

#include <algorithm>

#include <c10/util/Exception.h>

namespace weft::nn {

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
  // The next nodes on each side. A node whose parent also covers a token that another edge has
  // covered is taken in place of the parent, on the level below.
  int64_t left = node - 1;
  int64_t right = node + 1;
  bool takes_left_child = false;
  bool takes_right_child = false;
  for (int64_t level = 0; level < levels(); ++level) {
    for (int64_t k = 0; k < neighbours; ++k, --left, ++right) {
      const bool is_first = k == 0;
      const Edge to_right{.level = level, .ordinal = 2 * k + 2};
      const Edge to_left{.level = level, .ordinal = 2 * k + 1};
      if (is_first && takes_right_child) {
        add_edge(edges, level - 1, 2 * right + 1, to_right);
      } else {
        add_edge(edges, level, right, to_right);
      }
      if (left < 0) {
        continue;
      }
      if (is_first && takes_left_child) {
        add_edge(edges, level - 1, 2 * left, to_left);
      } else {
        add_edge(edges, level, left, to_left);
      }
    }
    takes_right_child = right % 2 == 1;
    takes_left_child = left >= 0 && left % 2 == 0;
    right >>= 1;
    left >>= 1;
  }
  return edges;
}

}  // namespace weft::nn
