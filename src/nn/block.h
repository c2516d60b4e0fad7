#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <torch/nn/module.h>

#include "nn/attention/attention.h"
#include "nn/attention/cross_attention.h"
#include "nn/depth/computation_gate.h"
#include "nn/feed_forward/feed_forward.h"
#include "nn/forward_context.h"
#include "nn/norm/norm.h"
#include "nn/residual_scale.h"
#include "nn/row_selection.h"
#include "nn/shared_sublayer.h"
#include "nn/sublayer.h"

namespace weft::nn {

/// Specification of one layer.
struct BlockOptions {
  int64_t layer = 0;
  int64_t input_dim = 0;        // features of the input; 0: D
  std::string order = "af";     // of the sub-layers: letters of sublayer_kinds()
  SharedSublayers shared = {};  // with another layer; none: all are this one's own
  AttentionOptions attention = {};
  AttentionMaker make_attention = make_full_attention;
  AttentionOptions cross_attention = {};  // `dim` is the query width, `encoder_dim` the key width
  std::shared_ptr<Sublayer> (*make_cross_attention)(const AttentionOptions&) =
      make_full_cross_attention;
  FeedForwardOptions feed_forward = {};
  FeedForwardMaker make_feed_forward = make_standard_feed_forward;
  /// Those of the sub-layers with a section of their own, by name.
  std::map<std::string, SublayerDefinition::Maker> make_sublayer = {};
  ResidualScaleMaker make_residual_scale = {};      // none: outputs are added as they are
  std::optional<ComputationGateOptions> gate = {};  // of each sub-layer; none: all are computed
  bool is_parallel = false;  // not post-norm: all sub-layers read the input of the block
  NormOptions norm = {};
  NormPlacement norm_placement = NormPlacement::kPost;
  bool has_first_norm = true;  // pre-norm only: false if a norm precedes the block anyway
  double dropout = 0.1;        // on the output of each sub-layer
  std::optional<double> feed_forward_dropout = {};  // on the feed-forward output, if different
  double drop_path_rate = 0;                        // stochastic depth (nn/depth/drop_path.h)

  int64_t dim() const { return norm.dim; }  // D
  int64_t input_width() const { return input_dim > 0 ? input_dim : dim(); }
};

/// One layer of a stack.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x,
                             const ForwardContext& context) = 0;  // (N, D) -> (N, D)
  /// The context of the rows that forward() returns; another one if it shortens the sequences.
  virtual ForwardContext context_after(const ForwardContext& context) const { return context; }
  /// Computes only the selected rows that forward() returns; skips work for the others:
  /// (N, D) -> (M, D).
  /// Dropout is then keyed by selected row, not by token.
  virtual at::Tensor forward_selected(const at::Tensor& x,
                                      const ForwardContext& context,
                                      const RowSelection& selection) = 0;
  /// Features of the output: D, unless sub-layers without residual connections have another width.
  virtual int64_t output_dim() const = 0;

  /// The parts of forward(), for stacks that combine them in another way. What sub-layer `index`
  /// adds to the residual stream of which it reads x, with its norm and dropout: (N, D) -> (N, D).
  virtual at::Tensor branch(std::size_t index,
                            const at::Tensor& x,
                            const ForwardContext& context) const = 0;
  virtual std::size_t sublayers() const = 0;
  virtual bool mixes_tokens(std::size_t index) const = 0;
};

/// Rows are independent of each other after the last sub-layer that mixes them; 0 if none does.
std::size_t last_mixing_sublayer(const Block& block);

/// Sub-layers, each with its residual and norm. Throws c10::Error for an order that is not
/// possible, config::Error for widths that do not fit each other.
std::shared_ptr<Block> make_block(const BlockOptions& options);

}  // namespace weft::nn
