#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::nn {

/// The binary tree over the tokens of a sequence (arXiv:1911.04070, section 3.1). Its nodes are
/// numbered by level: first the leaves, which are the tokens, then the spans of two tokens, of
/// four, ..., and last the root. The last node of a level may cover fewer tokens.
class BinaryTree {
 public:
  explicit BinaryTree(int64_t leaves);
  /// The tree of so many nodes. Throws c10::Error if there is none.
  static BinaryTree of_nodes(int64_t nodes);

  int64_t leaves() const { return sizes_.front(); }
  int64_t levels() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t nodes() const;
  /// The nodes of the tree over so many tokens, without the tree; 0 for no tokens.
  static int64_t nodes_over(int64_t leaves);

  /// The tokens [first, last) that a node covers.
  std::pair<int64_t, int64_t> span(int64_t node) const;

  /// A node that another attends to.
  struct Edge {
    int64_t node = 0;
    int64_t level = 0;    // at which it was found
    int64_t ordinal = 0;  // 0: the node itself or below it; 2 k + 1: the k-th to the left; 2 k + 2:
                          // to the right
  };
  /// A token attends to itself and to spans on both sides, on each level to `neighbours`, which
  /// cover each other token exactly once; a span to the tokens that it covers.
  std::vector<Edge> edges(int64_t node, int64_t neighbours) const;

 private:
  int64_t level_of(int64_t node) const;
  /// Adds an edge if the level has that node.
  void add_edge(std::vector<Edge>& edges, int64_t level, int64_t index, Edge edge) const;

  std::vector<int64_t> sizes_;   // of the levels
  std::vector<int64_t> begins_;  // their first nodes
};

/// The nodes that a causal model reads, in the order in which their last tokens come: each token is
/// followed by the spans that end with it, the shorter ones first. So the nodes over the first
/// tokens of a text are the first nodes of the text, and no node sees a later one. Spans that the
/// end of the text would cut are left out.
struct CausalBinaryTree {
  /// The nodes over so many tokens, which is also the node of the token that comes next.
  static int64_t nodes_over(int64_t leaves);
  /// The tokens [first, last) that a node covers.
  static std::pair<int64_t, int64_t> span(int64_t node);
  /// A token attends to itself and to spans on its left, which cover each earlier token exactly
  /// once; a span to the tokens that it covers.
  static std::vector<BinaryTree::Edge> edges(int64_t node, int64_t neighbours);
};

}  // namespace weft::nn
