#pragma once

#include <cstdint>
#include <string_view>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/family_definition.h"
#include "models/config/shared_model_keys.h"

/// Shared parts of the encoder-decoder families.
namespace weft::models {

/// Keys of `model:` other than those of stacks. Where the encoder's layers, heads or width are
/// given and the decoder's are not, the decoder's are the same.
struct EncoderDecoderKeys {
  bool has_inner_dropout = false;  // activation_dropout
  bool has_scaled_embedding = false;
  bool has_embedding_ties = false;  // share_encoder_decoder_embeddings and tie_word_embeddings
  bool has_relative = false;        // head_dim, relative_attention, gated, scale_decoder_outputs
  bool has_activation = true;
  /// SharedModelKeys::read_feed_forward
  void (*read_feed_forward)(LayerPartSection& section,
                            ModelOptions& options,
                            const ModelOptions* base) = nullptr;
};
void read_encoder_decoder_keys(config::Section& section,
                               ModelOptions& options,
                               const ModelOptions* base,
                               const EncoderDecoderKeys& keys);

/// decoder_start_token_id, forced_bos_token_id and forced_eos_token_id, for config.json and
/// generation_config.json.
void read_decoding_ids(const JsonFields& fields, ModelOptions& options);
void write_decoding_ids(formats::Json& json, const ModelOptions& options);
/// Sets these ids for a new model from the options' special ids: T5 and Marian start with the pad
/// id, BART with the eos id.
void set_decoding_ids(ModelOptions& options);
/// Null for heads that do not generate.
formats::Json encoder_decoder_generation(const ModelOptions& options);

/// Sizes of encoder and decoder.
struct EncoderDecoderSize {
  int64_t dim;
  int64_t layers;
  int64_t heads;
  int64_t width;
};
ModelOptions sized_encoder_decoder(ModelOptions options, const EncoderDecoderSize& size);

/// The `model.type` value equals model_type; heads, defaults, presets, keys, config.json and names
/// are set by the family.
FamilyDefinition encoder_decoder_definition(const HfNames& hf_names);

}  // namespace weft::models
