#pragma once

#include <cstdint>

#include "models/adapters/lora_options.h"
#include "models/config/options.h"
#include "train/cost/ledger.h"

namespace weft::train {

/// Bytes of what one layer of a stack makes for the rows of a step. In a layer of which some rows
/// alone are read, M of N, there are no others behind the attention, and where places do not matter
/// no other queries.
struct LayerSizes {
  double stream = 0;      // (N, D), what comes in
  double rest = 0;        // (N, D), or (M, D): from the attention's output on
  double qkv = 0;         // (N, (H + 2 G) K), or (M, H K) and (N, 2 G K)
  double mixed = 0;       // (N, H K), or (M, H K): what the attention gives its last projection
  double exponents = 0;   // of the softmax, (H, N) or (H, M), fp32
  double statistics = 0;  // of a norm before the attention: mean and deviation, fp32
  double rest_statistics = 0;  // of the others
  double sums = 0;             // parts of a norm's gradients, fp32
  double up = 0;               // (N, F), or (N, 2 F) where it is gated
  double hidden = 0;           // (N, F)
  double adapters = 0;         // what they keep
  double adapters_work = 0;    // and what they use for a moment
  bool is_pre = false;
  bool is_parallel = false;    // pre-norm only: no sum stands between attention and feed-forward
  bool has_first_norm = true;  // pre-norm only
  bool is_cut = false;         // some rows alone are read
  bool has_few_queries = false;
  bool drops_attention = false;
  bool is_gated = false;
  bool drops_hidden = false;
  bool keeps_hidden = false;  // what the second linear layer reads
  bool makes_hidden = false;  // again, for its weight's gradient
  bool drops_down = false;
  bool makes_normed = false;       // pre-norm only: what attention reads again, for its weight's
  bool makes_rest_normed = false;  // and what the feed-forward reads
};

/// What a layer is run on.
struct LayerRun {
  double tokens = 0;
  double rows = 0;     // behind the attention
  double element = 4;  // bytes
};

LayerSizes layer_sizes(const models::ModelOptions& model,
                       const models::LoraOptions* lora,
                       int64_t layer,
                       const LayerRun& run);

/// The layer's forward pass as its kernels allocate: from its input, held already, to its output
/// and what the backward pass needs.
void forward_layer(Ledger& ledger, const LayerSizes& sizes);
/// The same where nothing is kept: the input stays, the output comes.
void pass_layer(Ledger& ledger, const LayerSizes& sizes);
/// From the gradient of the output to that of the input, in whose place it is; the input is gone.
void backward_layer(Ledger& ledger, const LayerSizes& sizes);
/// The backward pass of a layer that kept its input alone.
void recompute_layer(Ledger& ledger, const LayerSizes& sizes);

}  // namespace weft::train
