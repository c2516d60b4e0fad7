#pragma once

#include <cstdint>
#include <vector>

#include "kernels/activation_kind.h"

namespace weft::models {

/// Differences of ModernBERT (arXiv:2412.13663) from BERT. The defaults are the behaviour of the
/// other families.
struct ModernOptions {
  double theta = 0;                    // rotary base of global layers; 0: learned positions
  double local_rope_theta = 0;         // rotary base of layers with a window
  int64_t window = 0;                  // tokens around each token that a local layer attends to
  int64_t global_attention_every = 1;  // layer i is global where this divides i, else local
  /// One entry per layer, where config.json has an order that no such number describes.
  std::vector<bool> global_attention_layers = {};
  bool is_gated = false;           // the feed-forward
  bool attention_bias = true;      // of the attention projections
  bool feed_forward_bias = true;   // of both
  bool norm_bias = true;           // of all norms, including those of heads
  bool head_bias = true;           // of the first layer of a head
  bool output_bias = true;         // of the MLM output matrix
  bool uses_mean_pooling = false;  // sequence classifiers read the mean, not the first token
  double activation_dropout = 0;   // on the F-wide activations
  double init_cutoff = 0;          // truncates initial values, in standard deviations; 0: no limit
  kernels::Activation head_activation = kernels::Activation::kGelu;
};

}  // namespace weft::models
