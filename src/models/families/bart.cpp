#include <algorithm>
#include <array>
#include <cmath>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/encoder_decoder_parts.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

using formats::Json;
using kernels::Activation;

ModelOptions common() {
  ModelOptions options;
  options.length = 1024;
  options.type_vocab_size = 0;
  options.norm_epsilon = 1e-5;
  options.attention_dropout = 0;
  options.classifier_dropout = 0;
  options.pad_id = 1;
  options.bos_id = 0;
  options.eos_id = 2;
  options.decoder.decoder_start_id = 2;
  options.decoder.forced_eos_id = 2;
  return options;
}

ModelOptions bart_defaults() { return sized_encoder_decoder(common(), {768, 6, 12, 3072}); }

ModelOptions mbart_defaults() {
  auto options = sized_encoder_decoder(common(), {1024, 12, 16, 4096});
  options.norm_placement = NormPlacement::kPre;
  options.decoder.scale_embedding = true;
  options.decoder.decoder_start_id = -1;
  return options;
}

ModelOptions marian_defaults() {
  auto options = sized_encoder_decoder(common(), {512, 6, 8, 2048});
  options.length = 512;
  options.has_sinusoidal_positions = true;
  options.activation = Activation::kSilu;
  options.bos_id = -1;
  options.decoder.scale_embedding = true;
  options.decoder.has_embedding_norm = false;
  return options;
}

ModelOptions transformer_defaults() {
  auto options = marian_defaults();
  options.activation = Activation::kRelu;
  return options;
}

std::vector<Preset> bart_presets() {
  return {{"bart-mini", sized_encoder_decoder(bart_defaults(), {256, 4, 4, 1024})},
          {"bart-base", bart_defaults()},
          {"bart-large", sized_encoder_decoder(bart_defaults(), {1024, 12, 16, 4096})}};
}

std::vector<Preset> mbart_presets() { return {{"mbart-large", mbart_defaults()}}; }

std::vector<Preset> marian_presets() { return {{"marian-base", marian_defaults()}}; }

std::vector<Preset> transformer_presets() {
  auto big = sized_encoder_decoder(transformer_defaults(), {1024, 6, 16, 4096});
  big.dropout = 0.3;  // table 3 of the paper, English to German
  return {{"transformer-base", transformer_defaults()}, {"transformer-big", std::move(big)}};
}

void read_bart_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_encoder_decoder_keys(section, options, base,
                            {.has_inner_dropout = true, .has_scaled_embedding = true});
}

void read_marian_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_encoder_decoder_keys(
      section, options, base,
      {.has_inner_dropout = true, .has_scaled_embedding = true, .has_embedding_ties = true});
}

void add_bart_layer(WeightMapBuilder& builder,
                    const ModelOptions& options,
                    bool is_decoder,
                    const std::string& parameter,
                    const std::string& hf_prefix) {
  const int64_t dim = options.dim;
  const int64_t width = is_decoder ? options.decoder.width : options.width;
  const auto linear = [&](const std::string& name, const std::string& hf_name, int64_t first = 0) {
    builder.linear(parameter + name, hf_prefix + hf_name,
                   {.inputs = dim, .outputs = dim, .first_row = first});
  };
  linear("attention.qkv", "self_attn.q_proj");
  linear("attention.qkv", "self_attn.k_proj", dim);
  linear("attention.qkv", "self_attn.v_proj", 2 * dim);
  linear("attention.output", "self_attn.out_proj");
  builder.norm(parameter + "attention_norm", hf_prefix + "self_attn_layer_norm", dim);
  if (is_decoder) {
    linear("cross_attention.query", "encoder_attn.q_proj");
    linear("cross_attention.key_value", "encoder_attn.k_proj");
    linear("cross_attention.key_value", "encoder_attn.v_proj", dim);
    linear("cross_attention.output", "encoder_attn.out_proj");
    builder.norm(parameter + "cross_attention_norm", hf_prefix + "encoder_attn_layer_norm", dim);
  }
  builder.linear(parameter + "feed_forward.up", hf_prefix + "fc1", {dim, width});
  builder.linear(parameter + "feed_forward.down", hf_prefix + "fc2", {width, dim});
  builder.norm(parameter + "feed_forward_norm", hf_prefix + "final_layer_norm", dim);
}

void add_side(WeightMapBuilder& builder, const ModelOptions& options, bool is_decoder) {
  const std::string embeddings = is_decoder ? "decoder_embeddings." : "embeddings.";
  const std::string stack = is_decoder ? "decoder_layers." : "layers.";
  const std::string side = is_decoder ? "model.decoder." : "model.encoder.";
  if (!options.has_sinusoidal_positions) {
    builder.table(embeddings + "position", side + "embed_positions",
                  {options.length + position_offset(options), options.dim});
  }
  if (options.decoder.has_embedding_norm) {
    builder.norm(embeddings + "norm", side + "layernorm_embedding", options.dim);
  }
  const int64_t layers = is_decoder ? options.decoder.layers : options.layers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    add_bart_layer(builder, options, is_decoder, str_cat(stack, layer, "."),
                   str_cat(side, "layers.", layer, "."));
  }
  if (options.norm_placement == NormPlacement::kPre) {
    builder.norm(stack + "norm", side + "layer_norm", options.dim);
  }
}

void add_bart_head(WeightMapBuilder& builder, const ModelOptions& options) {
  const int64_t dim = options.dim;
  if (head_of(options).classifies_sequences) {
    builder.linear("head.dense", "classification_head.dense",
                   {.inputs = dim, .outputs = dim, .part = Part::kHead});
    builder.linear("head.output", "classification_head.out_proj",
                   {.inputs = dim, .outputs = head_outputs(options), .part = Part::kHead});
    return;
  }
  if (!options.tie_word_embeddings) {
    builder.table("head", "lm_head", {options.vocabulary, dim}, Part::kHead);
  }
  builder.result.push_back({.parameter = "logits_bias",
                            .name = "final_logits_bias",
                            .shape = {1, options.vocabulary},
                            .part = Part::kHead,
                            .is_optional = true});
}

std::vector<StoredTensor> bart_tensors(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  WeightMapBuilder builder;
  if (decoder.share_encoder_decoder_embeddings) {
    builder.table("embeddings.word", "model.shared", {options.vocabulary, options.dim});
  } else {
    const int64_t source =
        decoder.source_vocabulary > 0 ? decoder.source_vocabulary : options.vocabulary;
    builder.table("embeddings.word", "model.encoder.embed_tokens", {source, options.dim});
    builder.table("decoder_embeddings.word", "model.decoder.embed_tokens",
                  {options.vocabulary, options.dim});
  }
  add_side(builder, options, false);
  add_side(builder, options, true);
  add_bart_head(builder, options);
  return std::move(builder.result);
}

std::vector<std::string> bart_spellings(const StoredTensor& tensor, const ModelOptions& options) {
  if (tensor.name == "model.shared.weight" || (tensor.name == "model.encoder.embed_tokens.weight" &&
                                               options.decoder.share_encoder_decoder_embeddings)) {
    return {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"};
  }
  return {};
}

bool is_bart_harmless(std::string_view name, const ModelOptions& options) {
  constexpr std::array kTied = {std::string_view("shared.weight"),
                                std::string_view("encoder.embed_tokens.weight"),
                                std::string_view("decoder.embed_tokens.weight")};
  const bool is_tied =
      std::any_of(kTied.begin(), kTied.end(), [&](auto end) { return name.ends_with(end); });
  return is_tied || (options.tie_word_embeddings && name == "lm_head.weight") ||
         name.ends_with("encoder.version") || name.ends_with("decoder.version") ||
         (options.has_sinusoidal_positions && name.ends_with("embed_positions.weight")) ||
         (!generates(options) && name == "final_logits_bias");
}

/// One normal distribution for all matrices.
Initializer bart_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter == "logits_bias") {
    return {.kind = Initializer::Kind::kZero};
  }
  return {.init_std = options.init_std, .zeroes_padding = parameter.ends_with(".word.weight")};
}

/// Glorot uniform (Glorot and Bengio 2010) for each matrix, embeddings of unit length on average,
/// as in the authors' Tensor2Tensor and in Marian.
Initializer glorot(const std::string& parameter, const ModelOptions& options) {
  const auto dim = static_cast<double>(options.dim);
  if (parameter == "logits_bias") {
    return {.kind = Initializer::Kind::kZero};
  }
  if (parameter.ends_with(".word.weight") || parameter == "head.weight") {
    return {.init_std = 1 / std::sqrt(dim), .zeroes_padding = parameter != "head.weight"};
  }
  double fans = 2 * dim;  // query, key and value count as separate matrices
  if (parameter.find(".feed_forward.") != std::string::npos) {
    const bool is_decoder = parameter.starts_with("decoder_");
    fans = dim + static_cast<double>(is_decoder ? options.decoder.width : options.width);
  }
  return {.kind = Initializer::Kind::kUniform, .bound = std::sqrt(6 / fans)};
}

void read_vocabularies(const JsonFields& fields, ModelOptions& options) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (!options.has_sinusoidal_positions) {  // Marian
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

void read_bart_json(const JsonFields& fields, ModelOptions& options) {
  read_vocabularies(fields, options);
  read_bart_sizes(fields, options);
  read_activation(fields, "activation_function", options.activation);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("activation_dropout", options.activation_dropout, 0.0, 1.0);
  fields.read("encoder_layerdrop", options.stochastic_depth.layerdrop, 0.0, 1.0);
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
  json["encoder_layerdrop"] = options.stochastic_depth.layerdrop;
  json["decoder_layerdrop"] = options.stochastic_depth.layerdrop;
  json["is_encoder_decoder"] = true;
  json["use_cache"] = true;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
  write_decoding_ids(json, options);
}

/// Values of absent config.json keys, as in the config classes of transformers.
ModelOptions absent(ModelOptions options) {
  options.dim = 1024;
  options.layers = options.decoder.layers = 12;
  options.heads = options.decoder.heads = 16;
  options.width = options.decoder.width = 4096;
  options.length = 1024;
  options.vocabulary = 50265;
  options.activation = Activation::kGelu;
  options.decoder.scale_embedding = false;
  return options;
}

ModelOptions absent_marian(const ModelOptions& defaults) {
  auto options = absent(defaults);
  options.vocabulary = 58101;
  options.pad_id = options.decoder.decoder_start_id = 58100;
  options.eos_id = options.decoder.forced_eos_id = 0;
  return options;
}

FamilyDefinition shared_definition(const HfNames& hf_names,
                                   const std::function<ModelOptions()>& absent_values) {
  auto made = encoder_decoder_definition(hf_names);
  made.heads = {{Head::kConditional, "ForConditionalGeneration"},
                {Head::kConditional, "Model"},  // its output is its embeddings
                {Head::kSequence, "ForSequenceClassification"}};
  made.capabilities.has_fixed_epsilon = true;
  made.capabilities.classifier_activation = Activation::kTanh;
  made.read_keys = read_bart_keys;
  made.read_json = [absent_values](const auto& fields, auto& options) {
    options = apply_named(options, absent_values());
    read_bart_json(fields, options);
  };
  made.write_json = write_bart_json;
  made.tensors = bart_tensors;
  made.name_aliases = bart_spellings;
  made.is_ignorable = is_bart_harmless;
  made.initializer = bart_initial;
  made.style = formats::TokenizerTemplate::kRoberta;
  return made;
}

}  // namespace

FamilyDefinition bart() {
  auto made = shared_definition({NormPlacement::kPost, "bart", "model", "Bart"},
                                [] { return absent(bart_defaults()); });
  made.defaults = bart_defaults;
  made.presets = bart_presets;
  made.capabilities.first_position = 2;
  made.capabilities.decoder_starts_with_eos = true;
  return made;
}

FamilyDefinition mbart() {
  auto made = shared_definition({NormPlacement::kPre, "mbart", "model", "MBart"},
                                [] { return absent(mbart_defaults()); });
  made.defaults = mbart_defaults;
  made.presets = mbart_presets;
  made.style = formats::TokenizerTemplate::kMbart;
  made.capabilities.first_position = 2;
  made.capabilities.decoder_starts_with_eos = true;  // where the language is unknown
  made.capabilities.has_language_tokens = true;
  return made;
}

FamilyDefinition marian() {
  auto made = shared_definition({NormPlacement::kPost, "marian", "model", "Marian"},
                                [] { return absent_marian(marian_defaults()); });
  made.heads = {{Head::kConditional, "MTModel"}, {Head::kConditional, "Model"}};
  made.defaults = marian_defaults;
  made.positions = sinusoidal_positions;
  made.presets = marian_presets;
  made.read_keys = read_marian_keys;
  made.initializer = glorot;
  made.style = formats::TokenizerTemplate::kEosOnly;
  return made;
}

FamilyDefinition transformer() {
  auto made = marian();
  made.name = "transformer";
  made.defaults = transformer_defaults;
  made.presets = transformer_presets;
  return made;
}

}  // namespace weft::models
