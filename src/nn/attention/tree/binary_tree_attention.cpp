#include <optional>

#include <ATen/ATen.h>

#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "nn/attention/sparse_core.h"
#include "nn/attention/tree/binary_tree.h"
#include "nn/attention/tree/span_nodes.h"

namespace weft::nn {

namespace {

struct BinaryTreeOptions {
  int64_t neighbours = 4;  // on each side and level
  int64_t clip = 10;       // levels from this one on share their vectors
  bool is_relative = true;
};

/// The edges of nodes among all nodes of a sequence.
class TreeEdges {
 public:
  TreeEdges(int64_t nodes, int64_t neighbours, bool is_causal) : neighbours_(neighbours) {
    if (!is_causal) {
      tree_ = BinaryTree::of_nodes(nodes);
    }
  }

  std::vector<BinaryTree::Edge> of(int64_t node) const {
    return tree_ ? tree_->edges(node, neighbours_) : CausalBinaryTree::edges(node, neighbours_);
  }

 private:
  int64_t neighbours_;
  std::optional<BinaryTree> tree_;  // nullopt: CausalBinaryTree
};

class TreePattern : public SparsePattern {
 public:
  TreePattern(int64_t neighbours, bool is_causal)
      : neighbours_(neighbours), is_causal_(is_causal) {}

  void add_keys(const AttentionSpan& span,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    for (const auto& edge : TreeEdges(span.keys, neighbours_, is_causal_).of(position)) {
      keys.push_back({edge.node, edge.node + 1});
    }
  }

 private:
  int64_t neighbours_;
  bool is_causal_;
};

/// Adds the product of the query and a learned vector of the kind of the edge: its level, side and
/// place (arXiv:1911.04070, section 3.2).
class TreeEdgeScores : public ScoreModifier {
 public:
  TreeEdgeScores(const AttentionOptions& options, const BinaryTreeOptions& own)
      : own_(own), is_causal_(options.is_causal), scale_(score_scale(options)) {
    keys_ = register_parameter("keys",
                               at::empty({(own.clip + 1) * kinds_of_level(), head_dim(options)}));
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto products = project_features(tile.query, keys_).to(scores.scalar_type());
    const auto kinds = kinds_of(tile.span).to(scores.device());
    return scores +
           products.gather(3, kinds.expand({products.size(0), products.size(1), -1, -1})) * scale_;
  }

 private:
  int64_t kinds_of_level() const { return 2 * own_.neighbours + 1; }

  /// (L, S); 0 where there is no edge.
  at::Tensor kinds_of(const AttentionSpan& span) const {
    const TreeEdges edges(span.keys, own_.neighbours, is_causal_);
    auto kinds = at::zeros({span.queries, span.keys}, at::kLong);
    auto* row = kinds.data_ptr<int64_t>();
    for (int64_t i = 0; i < span.queries; ++i, row += span.keys) {
      for (const auto& edge : edges.of(span.offset + i)) {
        row[edge.node] = std::min(edge.level, own_.clip) * kinds_of_level() + edge.ordinal;
      }
    }
    return kinds;
  }

  BinaryTreeOptions own_;
  bool is_causal_;
  double scale_;
  at::Tensor keys_;  // (kinds, K)
};

class BinaryTreeAttention : public SelfAttention, public UsesSpanNodes {
 public:
  BinaryTreeAttention(const AttentionOptions& options, const SelfAttentionParts& parts)
      : SelfAttention(options, parts), is_causal_(options.is_causal) {}

  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    return Attention::weights(x, context);  // none between tokens
  }
  void gate_keys(const ComputationGateMaker& make) override { Attention::gate_keys(make); }
  bool is_causal() const override { return is_causal_; }

 private:
  bool is_causal_;
};

}  // namespace

AttentionMaker read_binary_tree_attention(config::Section& section) {
  BinaryTreeOptions own;
  section.read("neighbours", own.neighbours,
               {.help = "Nodes on each side and level of the tree that a token attends to.",
                .unit = "nodes",
                .range = config::between(1, 1 << 16)});
  section.read("relative", own.is_relative,
               {.help = "Learned vectors for the level, side and place of a node."});
  if (own.is_relative || section.is_documenting()) {
    section.read("clip", own.clip,
                 {.help = "Levels from this one on have the same vectors.",
                  .unit = "levels",
                  .range = config::between(0, 32),
                  .only_if = "relative: true"});
  } else if (section.has("clip")) {
    section.fail("clip", "has no effect with relative: false");
  }
  return [own, section](const AttentionOptions& given) {
    if (scores_have_positions(given) || given.rotary.theta > 0) {
      section.fail("type",
                   "found 'binary_tree' with positions by distance, which its spans do not have; "
                   "learned and sinusoidal positions are possible");
    }
    auto options = given;
    if (own.is_relative) {
      options.position_modifiers.push_back([own](const AttentionOptions& layer) {
        return NamedModifier{"edges", std::make_shared<TreeEdgeScores>(layer, own)};
      });
    }
    const std::vector<std::shared_ptr<SparsePattern>> patterns{
        std::make_shared<TreePattern>(own.neighbours, given.is_causal)};
    return std::make_shared<BinaryTreeAttention>(
        options, SelfAttentionParts{.core = std::make_shared<SparseCore>(options, patterns)});
  };
}

}  // namespace weft::nn
