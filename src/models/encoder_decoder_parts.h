#pragma once

#include <cstdint>
#include <string_view>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/family_definition.h"

/// What the families with an encoder and a decoder share.
namespace weft::models {

/// Keys of `model:` beside those of stacks. Where the encoder's layers, heads or width are given
/// and the decoder's are not, these are alike.
struct EncoderDecoderKeys {
  std::string_view only;           // "type: t5"
  bool has_inner_dropout = false;  // feed_forward_dropout
  bool has_scaled_embedding = false;
  bool has_three_ties = false;  // ties_source, and ties_embeddings beside it
  bool has_relative = false;    // head_width, relative_positions, gated, scales_output
  bool has_activation = true;
};
void read_encoder_decoder_keys(config::Section& section,
                               ModelOptions& options,
                               const ModelOptions* base,
                               const EncoderDecoderKeys& keys);

/// decoder_start_token_id, forced_bos_token_id and forced_eos_token_id, for config.json and
/// generation_config.json.
void read_decoding_ids(const JsonFields& fields, ModelOptions& options);
void write_decoding_ids(formats::Json& json, const ModelOptions& options);
/// What these ids are for a new model with the options' own ids: T5 and Marian begin with the pad
/// id, BART with the end.
void settle_decoding_ids(ModelOptions& options);
/// Null for heads that do not generate.
formats::Json encoder_decoder_generation(const ModelOptions& options);

/// Sizes of both sides.
struct EncoderDecoderSize {
  int64_t dim;
  int64_t layers;
  int64_t heads;
  int64_t width;
};
ModelOptions sized_encoder_decoder(ModelOptions options, const EncoderDecoderSize& size);

/// Word of the config and model_type are one; heads, defaults, presets, keys, config.json and names
/// are the family's own.
FamilyDefinition encoder_decoder_definition(const FamilyFacts& facts);

}  // namespace weft::models
