#pragma once

#include <cstdint>
#include <string>

#include "models/config/shared_model_keys.h"
#include "models/families/causal_family.h"

/// Shared parts of Llama and the families that differ little from it.
namespace weft::models::llama_family {

ModelOptions defaults();

struct Size {
  int64_t layers;
  int64_t dim;
  int64_t heads;
  int64_t key_value_heads;
  int64_t width;
  int64_t length;
};

ModelOptions sized_decoder(ModelOptions options, const Size& size);

/// Keys of all of these families.
inline constexpr SharedModelKeys kKeys = {
    .has_dropout = false, .pooling = "last", .has_rotary = true, .has_grouped_heads = true};

/// What differs between config.json of the families.
struct JsonKeys {
  ModelOptions (*defaults)() = nullptr;
  int64_t vocabulary = 32000;
  int64_t width = 14336;
  int64_t length = 131072;
  double norm_epsilon = 1e-6;
  int64_t bos_id = 1;
  int64_t eos_id = 2;
  double theta = 10'000;            // of rotary positions
  int64_t default_window = 4096;    // with has_window; 0: none
  int64_t key_value_heads = 0;      // 0: as many as heads
  bool has_biases = false;          // attention_bias, mlp_bias
  bool has_window = false;          // sliding_window
  bool has_partial_window = false;  // in the last layers: use_sliding_window, max_window_layers
  bool always_has_head_dim = true;  // written even if it is dim / heads
  /// Further keys of the family.
  void (*read_more)(const JsonFields& fields, ModelOptions& options) = nullptr;
  void (*write_more)(formats::Json& json, const ModelOptions& options) = nullptr;
};

/// Adds the feed-forward tensors of a layer.
using FeedForwardTensors = void (*)(WeightMapBuilder& builder,
                                    const ModelOptions& options,
                                    const std::string& parameter,
                                    const std::string& hf_name);
void add_gated_feed_forward(WeightMapBuilder& builder,
                            const ModelOptions& options,
                            const std::string& parameter,
                            const std::string& hf_name);

/// Presets and keys are set by the family.
FamilyDefinition definition(const HfNames& hf_names,
                            const JsonKeys& keys,
                            FeedForwardTensors add_feed_forward = add_gated_feed_forward);

}  // namespace weft::models::llama_family
