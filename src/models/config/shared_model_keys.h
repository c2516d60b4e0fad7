#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_util.h"
#include "config/section.h"
#include "models/config/layer_type_keys.h"
#include "models/config/options.h"

namespace weft::models {

/// Selects which of the shared keys of `model:` a family has. All families have width and dropouts,
/// layers, heads, epsilon and init_std.
struct SharedModelKeys {
  bool has_layers = true;  // else the family reads their number before
  bool has_length = true;
  bool has_dropout = true;  // other than attention dropout
  bool has_activation = true;
  bool has_ties = true;
  bool has_residual = true;
  bool has_embedding = true;       // of words
  bool has_output = true;          // predicts tokens
  std::string_view pooling = {};   // classifier_pooling of the family; empty: no such key
  bool has_sinusoids = false;      // position.sinusoidal_init
  bool has_rotary = false;         // position.rope_theta and its scaling
  bool has_grouped_heads = false;  // attention.key_value_heads, attention.head_dim
  bool has_head_dim = false;       // attention.head_dim alone
  bool has_window = false;         // attention.window
  bool has_layer_scale = false;    // attention.scale_attn_by_inverse_layer_idx
  bool has_embedding_dropout = false;
  bool has_biases = false;              // attention.bias, feed_forward.bias
  bool has_norm_bias = false;           // norm.bias
  bool has_local_rotary = false;        // position.local_rope_theta
  bool has_activation_dropout = false;  // feed_forward.dropout
  int64_t half_dims_of_width = 8;       // default of the width, in halves of dim
  /// Reads `type` of attention and the keys of windows, where has_window does not describe them.
  void (*read_window)(LayerPartSection& section,
                      ModelOptions& options,
                      const ModelOptions* base) = nullptr;
  /// Reads `type` of the feed-forward and the keys of the family's own type, where that is not the
  /// standard one.
  void (*read_feed_forward)(LayerPartSection& section,
                            ModelOptions& options,
                            const ModelOptions* base) = nullptr;
  /// Reads further keys of the family's own position type.
  void (*read_position)(config::Section& section,
                        ModelOptions& options,
                        const ModelOptions* base) = nullptr;
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

/// Values in messages.
std::string shown_option(kernels::Activation value);
std::string shown_option(NormPlacement value);
inline std::string shown_option(bool value) { return value ? "true" : "false"; }
inline std::string shown_option(int64_t value) { return str_cat(value); }
inline std::string shown_option(double value) { return str_cat(value); }
template <class Value>
std::string shown_option(const std::vector<Value>& values) {
  return str_cat("a list of ", values.size());
}

template <class Value>
void require_unchanged(const config::Section& section,
                       std::string_view key,
                       const Value& value,
                       const Value& base) {
  if (value != base) {
    section.fail(key, str_cat(shown_option(value), " contradicts ", shown_option(base),
                              " of the model in init_from; omit it"));
  }
}

}  // namespace weft::models
