#pragma once

#include <cstdint>
#include <vector>

#include "kernels/activation_kind.h"

namespace weft::models {

/// What ModernBERT (arXiv:2412.13663) does otherwise than BERT. The defaults are what the other
/// families do.
struct ModernOptions {
  double theta = 0;        // of rotary positions where all is seen; 0: learned positions
  double local_theta = 0;  // and where a window is
  int64_t window = 0;      // tokens that a layer with a window sees around each token
  int64_t full_every = 1;  // layer i sees all where this divides i, the others a window
  /// Layer by layer, where config.json names an order that no such number gives.
  std::vector<bool> full_layers = {};
  bool is_gated = false;            // the feed-forward
  bool attention_bias = true;       // of the projections
  bool feed_forward_bias = true;    // of both
  bool norm_bias = true;            // of all norms, those of heads too
  bool head_bias = true;            // the first layer of a head
  bool output_bias = true;          // the matrix that guesses tokens
  bool pools_mean = false;          // classes of sequences: from the mean, not the first token
  double feed_forward_dropout = 0;  // on the F-wide activations
  double cutoff = 0;                // initial values lie within so many deviations; 0: anywhere
  kernels::Activation head_activation = kernels::Activation::kGelu;
};

}  // namespace weft::models
