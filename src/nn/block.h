#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "nn/attention/attention.h"
#include "nn/chosen_rows.h"
#include "nn/feed_forward.h"
#include "nn/module.h"
#include "nn/norm/norm.h"
#include "nn/norm/norm_place.h"
#include "nn/pass.h"

namespace weft::nn {

struct BlockOptions {
  int64_t layer = 0;
  AttentionOptions attention = {};
  bool has_cross_attention = false;       // on Pass::memory, between attention and feed-forward
  AttentionOptions cross_attention = {};  // its sizes; `dim` of the queries, `memory_dim` of keys
  bool is_parallel = false;  // pre-norm only: attention and feed-forward read the same stream
  FeedForwardOptions feed_forward;
  NormOptions norm;
  NormPlace norm_place = NormPlace::kPost;
  bool has_attention_norm = true;  // pre-norm only: false where a norm precedes the block anyway
  double dropout = 0.1;            // on the output of each sub-layer
  std::optional<double> feed_forward_dropout = {};  // on that of the feed-forward, if another
  double path_dropout =
      0;  // stochastic depth (nn/path_dropout.h); of a stack that of its last layer
};

/// One layer of a stack.
class Block : public Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;  // (N, D) -> (N, D)
  /// Of `forward` some rows, for less: (N, D) -> (M, D). Dropout draws by chosen rows then, not by
  /// tokens.
  virtual at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) = 0;
};

/// Attention, then feed-forward, each with its residual and norm.
std::shared_ptr<Block> make_block(const BlockOptions& options);

}  // namespace weft::nn
