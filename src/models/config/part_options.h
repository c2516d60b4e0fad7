#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/rotary.h"

/// Options of the parts of a layer. The defaults are BERT's behaviour.
namespace weft::models {

/// Rotary positions (RoPE, arXiv:2104.09864).
struct RopeOptions {
  double theta = 0;        // base; of global layers if some have a window; 0: no rotary positions
  double local_theta = 0;  // base in layers with a window (ModernBERT)
  double partial_factor = 1;  // fraction of a head's features that are rotated
  kernels::RotaryScaling scaling = {};

  bool operator==(const RopeOptions&) const = default;
};

/// Sliding-window attention.
struct WindowOptions {
  int64_t size = 0;  // tokens around each token, half on each side; causal: the token itself and
                     // size - 1 tokens before it; 0: no window
  int64_t first_layer = 0;   // first layer with the window
  int64_t global_every = 1;  // ModernBERT: layer i is global where this divides i, else local
  /// One entry per layer, where config.json has an order that no such number describes.
  std::vector<bool> global_layers = {};

  bool operator==(const WindowOptions&) const = default;
};

/// Which layers have biases.
struct BiasOptions {
  bool attention = true;         // projections of queries, keys and values
  bool attention_output = true;  // output projection, in families where it differs
  bool feed_forward = true;      // both projections
  bool norm = true;              // all norms, including those of heads
  bool head = true;              // first layer of a head
  bool mlm_output = true;        // MLM output matrix

  bool operator==(const BiasOptions&) const = default;
};

/// T5's relative positions: a bias of the attention scores by distance.
struct RelativeOptions {
  int64_t buckets = 0;  // 0: none
  int64_t max_distance = 128;

  bool operator==(const RelativeOptions&) const = default;
};

}  // namespace weft::models
