#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <torch/nn/module.h>

#include "nn/attention/attention.h"
#include "nn/feed_forward.h"
#include "nn/forward_context.h"
#include "nn/norm/norm.h"
#include "nn/norm/norm_place.h"
#include "nn/row_selection.h"

namespace weft::nn {

struct BlockOptions {
  int64_t layer = 0;
  AttentionOptions attention = {};
  bool has_cross_attention =
      false;  // on ForwardContext::encoder_states, between attention and feed-forward
  AttentionOptions cross_attention = {};  // `dim` is the query width, `encoder_dim` the key width
  bool is_parallel = false;  // pre-norm only: attention and feed-forward read the same stream
  FeedForwardOptions feed_forward;
  NormOptions norm;
  NormPlacement norm_placement = NormPlacement::kPost;
  bool has_attention_norm = true;  // pre-norm only: false if a norm precedes the block anyway
  double dropout = 0.1;            // on the output of each sub-layer
  std::optional<double> feed_forward_dropout = {};  // on the feed-forward output, if different
  double drop_path_rate =
      0;  // stochastic depth (nn/drop_path.h); of a stack: the rate of its last layer
};

/// One layer of a stack.
class Block : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x,
                             const ForwardContext& context) = 0;  // (N, D) -> (N, D)
  /// Computes only the selected rows of forward(); skips work for the others: (N, D) -> (M, D).
  /// Dropout is then keyed by selected row, not by token.
  virtual at::Tensor forward_selected(const at::Tensor& x,
                                      const ForwardContext& context,
                                      const RowSelection& selection) = 0;
};

/// Attention, then feed-forward, each with its residual and norm.
std::shared_ptr<Block> make_block(const BlockOptions& options);

}  // namespace weft::nn
