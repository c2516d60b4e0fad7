#pragma once

#include <string_view>

#include "config/section.h"
#include "models/config/options.h"

namespace weft::models {

/// Which of the keys of `model:` that stacks share a family has. Width and dropouts, layers, heads,
/// epsilon and deviation they all have.
struct StackKeys {
  std::string_view only;  // "type: gpt2"
  bool has_length = true;
  bool has_dropout = true;  // beside that of the attention
  bool has_activation = true;
  bool has_ties = true;
  bool has_sinusoids = false;      // position.sinusoidal
  bool has_rotary = false;         // position.theta and its scaling
  bool has_grouped_heads = false;  // attention.key_value_heads, attention.head_width
  bool has_window = false;         // attention.window
  bool has_layer_scale = false;    // attention.scales_by_layer
  bool has_embedding_dropout = false;
  bool has_norm_place = false;  // norm.place: both
  bool has_biases = false;      // attention.bias, feed_forward.bias
};

/// Reads them into the options. `base`: what init_from brings; what decides shapes may not differ
/// from it. Further keys of the sections are the caller's: `model:` itself stays open, its
/// sub-sections are closed. Throws config::Error.
void read_stack_keys(config::Section& section,
                     ModelOptions& options,
                     const ModelOptions* base,
                     const StackKeys& keys);

/// Refuses a key that would give the weights of init_from another shape or meaning.
void keep_same(const config::Section& section, std::string_view key, bool is_same);

}  // namespace weft::models
