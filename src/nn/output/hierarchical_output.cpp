#include <algorithm>
#include <cstdint>
#include <deque>
#include <queue>
#include <ranges>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

enum class TreeShape { kHuffman, kBalanced };
const config::Choices<TreeShape> kTreeShapes = {{"huffman", TreeShape::kHuffman},
                                                {"balanced", TreeShape::kBalanced}};

/// Children of the inner nodes of a binary tree: another inner node, or -1 - token. Node 0 is the
/// root.
using Children = std::vector<std::pair<int64_t, int64_t>>;

constexpr int64_t leaf_of(int64_t token) { return -1 - token; }

/// A tree whose leaves are the tokens in the order of their ids, all at depths that differ by at
/// most one.
Children balanced_tree(int64_t vocabulary) {
  Children children;
  std::deque<std::pair<int64_t, int64_t>> ranges{{0, vocabulary}};  // of the nodes, in order
  int64_t next = 1;
  const auto child = [&](int64_t begin, int64_t end) {
    if (end - begin == 1) {
      return leaf_of(begin);
    }
    ranges.emplace_back(begin, end);
    return next++;
  };
  for (; !ranges.empty(); ranges.pop_front()) {
    const auto [begin, end] = ranges.front();
    const auto middle = begin + (end - begin + 1) / 2;
    const auto left = child(begin, middle);
    children.emplace_back(left, child(middle, end));
  }
  return children;
}

/// The tree that makes the mean length of a path as small as possible (Huffman 1952). Of equal
/// counts the token with the lower id comes first.
Children huffman_tree(const std::vector<int64_t>& counts) {
  const auto order = by_frequency(counts);
  const auto inner = static_cast<int64_t>(counts.size()) - 1;
  std::queue<std::pair<int64_t, int64_t>> leaves;  // count and child, by rising count
  for (const auto token : std::views::reverse(order)) {
    leaves.emplace(counts[static_cast<std::size_t>(token)], leaf_of(token));
  }
  std::queue<std::pair<int64_t, int64_t>> merged;  // by rising count, too
  const auto take = [&] {
    auto& from = merged.empty() || (!leaves.empty() && leaves.front().first <= merged.front().first)
                     ? leaves
                     : merged;
    const auto least = from.front();
    from.pop();
    return least;
  };
  Children children(static_cast<std::size_t>(inner));
  for (auto node = inner - 1; node >= 0; --node) {  // the root is the last one made
    const auto first = take();
    const auto second = take();
    children[static_cast<std::size_t>(node)] = {first.second, second.second};
    merged.emplace(first.first + second.first, node);
  }
  return children;
}

/// P(token) is the product of the decisions on the path from the root to its leaf:
/// sigmoid(u h + b) for the first child of a node, sigmoid(-(u h + b)) for the second.
class HierarchicalOutput : public OutputLayer {
 public:
  HierarchicalOutput(const OutputOptions& options, TreeShape shape)
      : vocabulary_(options.vocabulary), shape_(shape) {
    TORCH_CHECK(vocabulary_ > 1, "a tree needs two tokens or more, got ", vocabulary_);
    weight_ = register_parameter("weight", at::empty({vocabulary_ - 1, options.width}));
    bias_ = register_parameter("bias", at::empty({vocabulary_ - 1}));
    children_ = register_buffer("children", at::empty({vocabulary_ - 1, 2}, at::kLong));
    set_tree(balanced_tree(vocabulary_));
  }

  at::Tensor logits(const TokenStates& input, const OutputMatrix& /*matrix*/) override;
  at::Tensor loss(const TokenStates& input,
                  const at::Tensor& targets,
                  const OutputMatrix& /*matrix*/,
                  const ForwardContext& /*context*/) override;
  bool needs_statistics() const override { return shape_ == TreeShape::kHuffman; }
  void fit(const TokenStatistics& statistics) override {
    set_tree(huffman_tree(statistics.counts));
  }
  void finish_loading() override { read_tree(); }

 private:
  /// A node on the path to a token.
  struct Step {
    int64_t node = 0;
    float sign = 1;
  };
  /// Nodes at one depth.
  struct Level {
    std::vector<int64_t> parents;  // their places among the children of the level above
    std::vector<int64_t> nodes;
  };

  void set_tree(const Children& children);
  /// Sets levels_ and paths_ from the buffer.
  void read_tree();

  int64_t vocabulary_;
  TreeShape shape_;
  at::Tensor weight_;    // (V - 1, E)
  at::Tensor bias_;      // (V - 1)
  at::Tensor children_;  // (V - 1, 2)

  std::vector<Level> levels_;
  std::vector<int64_t> leaf_places_;  // V: among the children of all levels, one after another
  std::vector<std::vector<Step>> paths_;
};

void HierarchicalOutput::set_tree(const Children& children) {
  auto values = at::empty_like(children_, at::device(at::kCPU));
  auto* data = values.data_ptr<int64_t>();
  for (const auto& [first, second] : children) {
    *data++ = first;
    *data++ = second;
  }
  children_.copy_(values);
  read_tree();
}

void HierarchicalOutput::read_tree() {
  const auto stored = children_.cpu();
  const auto* children = stored.const_data_ptr<int64_t>();
  levels_ = {{.parents = {0}, .nodes = {0}}};
  leaf_places_.assign(static_cast<std::size_t>(vocabulary_), -1);
  paths_.assign(static_cast<std::size_t>(vocabulary_), {});
  std::vector<std::vector<Step>> node_paths(static_cast<std::size_t>(vocabulary_) - 1);
  int64_t leaves = 0;
  int64_t visited = 0;
  int64_t offset = 0;  // of the level's children among those of all levels
  const auto fail = [] {
    throw UserError("model.safetensors: the tree of the hierarchical softmax is damaged");
  };
  while (!levels_.back().nodes.empty()) {
    const auto level = levels_.back();
    const auto count = static_cast<int64_t>(level.nodes.size());
    visited += count;
    Level next;
    for (int64_t side = 0; side < 2; ++side) {
      for (int64_t i = 0; i < count; ++i) {
        const auto node = level.nodes[static_cast<std::size_t>(i)];
        const auto child = children[2 * node + side];
        const auto place = side * count + i;
        auto path = node_paths[static_cast<std::size_t>(node)];
        path.push_back({.node = node, .sign = side == 0 ? 1.0F : -1.0F});
        const bool is_leaf = child < 0;
        const auto index = static_cast<std::size_t>(is_leaf ? -1 - child : child);
        if (visited >= vocabulary_ || index >= paths_.size() - (is_leaf ? 0 : 1) ||
            (is_leaf ? leaf_places_[index] >= 0 : index == 0 || !node_paths[index].empty())) {
          fail();
        }
        if (is_leaf) {
          leaf_places_[index] = offset + place;
          paths_[index] = std::move(path);
          ++leaves;
        } else {
          node_paths[index] = std::move(path);
          next.parents.push_back(place);
          next.nodes.push_back(child);
        }
      }
    }
    offset += 2 * count;
    levels_.push_back(std::move(next));
  }
  levels_.pop_back();
  if (leaves != vocabulary_) {
    fail();
  }
}

at::Tensor HierarchicalOutput::logits(const TokenStates& input, const OutputMatrix& /*matrix*/) {
  const auto& features = input.states;
  const auto scores = kernels::linear(features, weight_, bias_).to(at::kFloat);  // (M, V - 1)
  const auto first = at::log_sigmoid(scores);
  const auto second = at::log_sigmoid(-scores);
  const auto device = features.device();
  std::vector<at::Tensor> levels;  // (M, 2 n): the first children, then the second ones
  for (const auto& level : levels_) {
    const auto nodes = kernels::to_device(level.nodes, device);
    auto children = at::cat({first.index_select(1, nodes), second.index_select(1, nodes)}, 1);
    if (!levels.empty()) {
      const auto parents = levels.back().index_select(1, kernels::to_device(level.parents, device));
      children = children + at::cat({parents, parents}, 1);
    }
    levels.push_back(children);
  }
  return at::cat(levels, 1).index_select(1, kernels::to_device(leaf_places_, device));
}

at::Tensor HierarchicalOutput::loss(const TokenStates& input,
                                    const at::Tensor& targets,
                                    const OutputMatrix& /*matrix*/,
                                    const ForwardContext& /*context*/) {
  const auto& features = input.states;
  const auto ids = targets.cpu();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  std::vector<int64_t> rows;
  std::vector<int64_t> nodes;
  std::vector<float> signs;
  for (int64_t row = 0; row < ids.numel(); ++row) {
    for (const auto& step : paths_[static_cast<std::size_t>(tokens[row])]) {
      rows.push_back(row);
      nodes.push_back(step.node);
      signs.push_back(step.sign);
    }
  }
  const auto device = features.device();
  const auto at_nodes = kernels::to_device(nodes, device);
  const auto products = features.index_select(0, kernels::to_device(rows, device)) *
                        weight_.index_select(0, at_nodes);  // (steps, E)
  const auto scores =
      products.sum(1, /*keepdim=*/false, at::kFloat) + bias_.index_select(0, at_nodes);
  return -at::log_sigmoid(scores * kernels::to_device(signs, device)).sum();
}

}  // namespace

OutputMaker read_hierarchical_output(config::Section& section) {
  auto shape = TreeShape::kHuffman;
  section.read_choice("tree", shape, kTreeShapes,
                      {.help = "Shape of the tree. huffman: frequent tokens have short paths, by "
                               "their counts in the training data. balanced: all paths have about "
                               "the same length."});
  return [shape](const OutputOptions& options) {
    return std::make_shared<HierarchicalOutput>(options, shape);
  };
}

}  // namespace weft::nn
