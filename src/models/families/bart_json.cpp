#include "models/families/bart_json.h"

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/hf_config_fields.h"
#include "models/encoder_decoder_parts.h"

namespace weft::models {

namespace {

using formats::Json;

/// Sets the values of absent keys, as in the config classes of transformers.
void set_defaults(ModelOptions& options) {
  options = apply_named(options, definition_of(options.family).defaults());
  options.dim = 1024;
  options.layers = options.decoder.layers = 12;
  options.heads = options.decoder.heads = 16;
  options.width = options.decoder.width = 4096;
  options.length = 1024;
  options.vocabulary = 50265;
  options.activation = kernels::Activation::kGelu;
  options.decoder.scale_embedding = false;
  if (options.family == Family::kMarian) {
    options.vocabulary = 58101;
    options.pad_id = options.decoder.decoder_start_id = 58100;
    options.eos_id = options.decoder.forced_eos_id = 0;
  }
}

void read_vocabularies(const JsonFields& fields, ModelOptions& options) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.family != Family::kMarian) {
    return;
  }
  const int64_t source = options.vocabulary;
  fields.read("decoder_vocab_size", options.vocabulary, 1, kMostTokens);
  options.decoder.source_vocabulary = source == options.vocabulary ? 0 : source;
  fields.read("share_encoder_decoder_embeddings", options.decoder.share_encoder_decoder_embeddings);
  if (options.decoder.share_encoder_decoder_embeddings && options.decoder.source_vocabulary > 0) {
    fields.fail("decoder_vocab_size",
                str_cat("found ", options.vocabulary, " with a vocab_size of ", source,
                        ", which share_encoder_decoder_embeddings does not allow"));
  }
}

void read_bart_sizes(const JsonFields& fields, ModelOptions& options) {
  auto& decoder = options.decoder;
  fields.read_size("d_model", options.dim, kMostFeatures);
  fields.read_size("encoder_layers", options.layers, kMostLayers);
  fields.read_size("decoder_layers", decoder.layers, kMostLayers);
  fields.read_size("encoder_attention_heads", options.heads, kMostFeatures);
  fields.read_size("decoder_attention_heads", decoder.heads, kMostFeatures);
  fields.read_size("encoder_ffn_dim", options.width, kMostFeatures);
  fields.read_size("decoder_ffn_dim", decoder.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  for (const auto& [key, heads] : {std::pair{"encoder_attention_heads", options.heads},
                                   std::pair{"decoder_attention_heads", decoder.heads}}) {
    if (options.dim % heads != 0) {
      fields.fail(key, str_cat(heads, " does not divide d_model ", options.dim));
    }
  }
}

}  // namespace

void read_bart_json(const JsonFields& fields, ModelOptions& options) {
  set_defaults(options);
  read_vocabularies(fields, options);
  read_bart_sizes(fields, options);
  read_activation(fields, "activation_function", options.activation);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("activation_dropout", options.activation_dropout, 0.0, 1.0);
  fields.read("init_std", options.init_std, 0.0, 100.0);
  fields.read("scale_embedding", options.decoder.scale_embedding);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  fields.read("classifier_dropout", options.classifier_dropout, 0.0, 1.0);
  if (!options.tie_word_embeddings && options.decoder.share_encoder_decoder_embeddings) {
    fields.fail("tie_word_embeddings",
                "found false, must be true if encoder and decoder share their embeddings");
  }
  read_ids(fields, options);
  read_decoding_ids(fields, options);
}

void write_bart_json(Json& json, const ModelOptions& options) {
  const auto& decoder = options.decoder;
  const bool is_sinusoidal = options.has_sinusoidal_positions;
  json["vocab_size"] =
      decoder.source_vocabulary > 0 ? decoder.source_vocabulary : options.vocabulary;
  if (is_sinusoidal) {
    json["decoder_vocab_size"] = options.vocabulary;
    json["share_encoder_decoder_embeddings"] = decoder.share_encoder_decoder_embeddings;
    json["static_position_embeddings"] = true;
  }
  json["d_model"] = options.dim;
  json["encoder_layers"] = options.layers;
  json["decoder_layers"] = decoder.layers;
  json["encoder_attention_heads"] = options.heads;
  json["decoder_attention_heads"] = decoder.heads;
  json["encoder_ffn_dim"] = options.width;
  json["decoder_ffn_dim"] = decoder.width;
  json["max_position_embeddings"] = options.length;
  json["activation_function"] = hf_activation_name(options.activation);
  json["dropout"] = options.dropout;
  json["attention_dropout"] = options.attention_dropout;
  json["activation_dropout"] = options.activation_dropout;
  json["init_std"] = options.init_std;
  json["scale_embedding"] = decoder.scale_embedding;
  if (!is_sinusoidal) {
    json["classifier_dropout"] = options.classifier_dropout.value_or(0.0);
  }
  json["encoder_layerdrop"] = 0.0;
  json["decoder_layerdrop"] = 0.0;
  json["is_encoder_decoder"] = true;
  json["use_cache"] = true;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
  write_decoding_ids(json, options);
}

}  // namespace weft::models
