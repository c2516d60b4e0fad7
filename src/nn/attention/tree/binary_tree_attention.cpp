#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/attention/edge_attention.h"
#include "nn/attention/attention_core.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
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

/// Attention of the nodes of each sequence along their edges. A learned vector of the kind of an
/// edge, its level, side and place, is added to the key (arXiv:1911.04070, section 3.2).
class TreeCore : public AttentionCore {
 public:
  TreeCore(const AttentionOptions& options, const BinaryTreeOptions& own)
      : options_(options), own_(own) {
    if (own.is_relative) {
      edge_vectors_ = register_parameter(
          "edge_vectors", at::empty({(own.clip + 1) * kinds_of_level(), head_dim(options)}));
    }
  }

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override {
    const auto rows = separated(input, options_);
    return kernels::edge_attention(rows, input.queries, edges_of(input, rows, context),
                                   edge_vectors_, attention_settings(options_, context, false),
                                   input.rng_key);
  }

 private:
  int64_t kinds_of_level() const { return 2 * own_.neighbours + 1; }

  std::shared_ptr<const kernels::AttentionEdges> edges_of(const CoreInput& input,
                                                          const kernels::AttentionInput& rows,
                                                          const ForwardContext& context) const {
    const auto result = std::make_shared<kernels::AttentionEdges>();
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      const auto span = span_of(input, b, options_.is_causal, context);
      if (span.queries == 0) {
        continue;
      }
      const TreeEdges edges(span.keys, own_.neighbours, options_.is_causal);
      const auto first_key = rows.key_begins[static_cast<std::size_t>(b)];
      for (int64_t i = 0; i < span.queries; ++i) {
        for (const auto& edge : edges.of(span.offset + i)) {
          result->keys.push_back(static_cast<int32_t>(first_key + edge.node));
          result->kinds.push_back(static_cast<int32_t>(
              std::min(edge.level, own_.clip) * kinds_of_level() + edge.ordinal));
        }
        result->begins.push_back(std::ssize(result->keys));
      }
    }
    return result;
  }

  AttentionOptions options_;
  BinaryTreeOptions own_;
  at::Tensor edge_vectors_;  // (kinds, K); undefined without `relative`
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
    return std::make_shared<BinaryTreeAttention>(
        given, SelfAttentionParts{.core = std::make_shared<TreeCore>(given, own)});
  };
}

}  // namespace weft::nn
