#pragma once

#include <string_view>

#include "config/section.h"
#include "models/config/options.h"

namespace weft::models {

/// Selects which of the shared keys of `model:` a family has. All families have width and dropouts,
/// layers, heads, epsilon and init_std.
struct SharedModelKeys {
  std::string_view only_if;  // "type: gpt2"
  bool has_length = true;
  bool has_dropout = true;  // other than attention dropout
  bool has_activation = true;
  bool has_ties = true;
  bool has_sinusoids = false;      // position.sinusoidal_init
  bool has_rotary = false;         // position.rope_theta and its scaling
  bool has_grouped_heads = false;  // attention.key_value_heads, attention.head_dim
  bool has_window = false;         // attention.window
  bool has_layer_scale = false;    // attention.scale_attn_by_inverse_layer_idx
  bool has_embedding_dropout = false;
  bool has_norm_placement = false;  // norm.place: both values
  bool has_biases = false;          // attention.bias, feed_forward.bias
};

/// Reads these keys into the options. `base`: the init_from model; keys that define shapes may not
/// differ from it. The caller reads further keys: `model:` itself stays open, its sub-sections are
/// closed. Throws config::Error.
void read_shared_model_keys(config::Section& section,
                            ModelOptions& options,
                            const ModelOptions* base,
                            const SharedModelKeys& keys);

/// Rejects a key that would change the shape or the meaning of the init_from weights.
void require_unchanged(const config::Section& section, std::string_view key, bool is_same);

}  // namespace weft::models
