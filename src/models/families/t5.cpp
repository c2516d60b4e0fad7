#include <cmath>
#include <cstring>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/encoder_decoder_parts.h"
#include "models/families/families.h"
#include "models/families/t5_kind.h"
#include "models/weights/weights.h"

namespace weft::models {

namespace {

using formats::Json;
using kernels::Activation;
using t5_family::FeedForwardTensors;

constexpr auto kOutput = "lm_head.weight";
constexpr auto kShared = "shared.weight";

/// Applies the changes of version 1.1 and mT5.
void make_gated(ModelOptions& options) {
  options.activation = Activation::kGeluTanh;
  options.is_gated = true;
  options.tie_word_embeddings = false;
  options.decoder.scale_decoder_outputs = false;
}

ModelOptions mt5_defaults() {
  auto options = t5_family::defaults();
  make_gated(options);
  options.layers = 8;
  options.heads = 6;
  options.width = 1024;
  options.decoder.layers = 8;
  options.decoder.heads = 6;
  options.decoder.width = 1024;
  return options;
}

ModelOptions gated(const EncoderDecoderSize& size) {
  auto options = sized_encoder_decoder(t5_family::defaults(), size);
  make_gated(options);
  return options;
}

/// arXiv:2109.10686, table 2.
ModelOptions t5_mini() {
  auto options = sized_encoder_decoder(t5_family::defaults(), {384, 4, 8, 1536});
  options.head_dim = 32;
  return options;
}

std::vector<Preset> t5_presets() {
  return {{"t5-mini", t5_mini()},
          {"t5-small", t5_family::defaults()},
          {"t5-base", sized_encoder_decoder(t5_family::defaults(), {768, 12, 12, 3072})},
          {"t5-large", sized_encoder_decoder(t5_family::defaults(), {1024, 24, 16, 4096})},
          {"t5-v1_1-small", gated({512, 8, 6, 1024})},
          {"t5-v1_1-base", gated({768, 12, 12, 2048})},
          {"t5-v1_1-large", gated({1024, 24, 16, 2816})}};
}

std::vector<Preset> mt5_presets() {
  return {{"mt5-small", mt5_defaults()},
          {"mt5-base", sized_encoder_decoder(mt5_defaults(), {768, 12, 12, 2048})},
          {"mt5-large", sized_encoder_decoder(mt5_defaults(), {1024, 24, 16, 2816})}};
}

void read_t5_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_encoder_decoder_keys(section, options, base, {.has_relative = true});
}

/// `gated-gelu`: the activation of a gated feed-forward; the name is used for both kinds of GELU.
/// dense_act_fn and is_gated_act distinguish them and take precedence where present.
void read_t5_feed_forward(const JsonFields& fields, ModelOptions& options) {
  std::string kind = options.is_gated ? "gated-gelu" : "relu";
  fields.read("feed_forward_proj", kind);
  options.is_gated = kind.starts_with("gated-");
  const Json named = {{"feed_forward_proj", options.is_gated ? kind.substr(6) : kind}};
  read_activation(JsonFields(named, fields.place()), "feed_forward_proj", options.activation);
  if (kind == "gated-gelu") {
    options.activation = Activation::kGeluTanh;
  }
  read_activation(fields, "dense_act_fn", options.activation);
  fields.read("is_gated_act", options.is_gated);
}

/// `absent`: the values of absent keys.
void read_common_json(const JsonFields& fields, ModelOptions& options, const ModelOptions& absent) {
  options = apply_named(options, absent);
  auto& decoder = options.decoder;
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  fields.read_size("d_model", options.dim, kMostFeatures);
  fields.read_size("d_kv", options.head_dim, kMostFeatures);
  fields.read_size("d_ff", options.width, kMostFeatures);
  fields.read_size("num_layers", options.layers, kMostLayers);
  decoder.layers = options.layers;
  fields.read("num_decoder_layers", decoder.layers, 1, kMostLayers);
  fields.read_size("num_heads", options.heads, kMostFeatures);
  decoder.heads = options.heads;
  decoder.width = options.width;
  fields.read("n_positions", options.length, 1, kMostTokens);
  fields.read_size("relative_attention_num_buckets", options.relative.buckets, kMostFeatures);
  fields.read_size("relative_attention_max_distance", options.relative.max_distance, kMostTokens);
  fields.read("dropout_rate", options.dropout, 0.0, 1.0);
  options.attention_dropout = options.dropout;
  options.activation_dropout = options.dropout;
  fields.read("layer_norm_epsilon", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_factor", options.init_std, 0.0, 100.0);
  read_t5_feed_forward(fields, options);
  read_ids(fields, options);
  read_decoding_ids(fields, options);
}

void read_t5_json(const JsonFields& fields, ModelOptions& options) {
  auto absent = t5_family::defaults();
  absent.vocabulary = 32128;
  read_common_json(fields, options, absent);
  // In transformers 4 tie_word_embeddings implies both settings; 5 writes `scale_decoder_outputs`.
  // The weights decide whether the output matrix is tied.
  bool is_tied = true;
  fields.read("tie_word_embeddings", is_tied);
  options.tie_word_embeddings = is_tied;
  options.decoder.scale_decoder_outputs = is_tied;
  fields.read("scale_decoder_outputs", options.decoder.scale_decoder_outputs);
}

void read_mt5_json(const JsonFields& fields, ModelOptions& options) {
  auto absent = mt5_defaults();
  absent.vocabulary = 250112;
  read_common_json(fields, options, absent);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
}

/// `write_ties`: writes the keys of tied matrices, which differ.
void write_common_json(Json& json,
                       const ModelOptions& options,
                       void (*write_ties)(Json& json, const ModelOptions& options)) {
  const auto& decoder = options.decoder;
  json["vocab_size"] = options.vocabulary;
  json["d_model"] = options.dim;
  json["d_kv"] = options.head_dim;
  json["d_ff"] = options.width;
  json["num_layers"] = options.layers;
  json["num_decoder_layers"] = decoder.layers;
  json["num_heads"] = options.heads;
  json["n_positions"] = options.length;
  json["relative_attention_num_buckets"] = options.relative.buckets;
  json["relative_attention_max_distance"] = options.relative.max_distance;
  json["dropout_rate"] = options.dropout;
  json["layer_norm_epsilon"] = options.norm_epsilon;
  json["initializer_factor"] = options.init_std;
  const bool is_gated = options.is_gated;
  const std::string activation(hf_activation_name(options.activation));
  const bool is_gelu = options.activation == Activation::kGeluTanh;
  json["feed_forward_proj"] = is_gated ? "gated-" + (is_gelu ? "gelu" : activation) : activation;
  json["dense_act_fn"] = activation;
  json["is_gated_act"] = is_gated;
  json["is_encoder_decoder"] = !head_of(options).is_bare;
  json["use_cache"] = true;
  write_ties(json, options);
  write_ids(json, options);
  write_decoding_ids(json, options);
}

void write_t5_json(Json& json, const ModelOptions& options) {
  write_common_json(json, options, [](Json& written, const ModelOptions& from) {
    written["scale_decoder_outputs"] = from.decoder.scale_decoder_outputs;
    written["tie_word_embeddings"] = from.decoder.scale_decoder_outputs;
  });
}

void write_mt5_json(Json& json, const ModelOptions& options) {
  write_common_json(json, options, [](Json& written, const ModelOptions& from) {
    written["tie_word_embeddings"] = from.tie_word_embeddings;
  });
}

void infer_from_weights(ModelOptions& options, const SafetensorsShards& files) {
  if (!generates(options) || options.layer_types.embedding) {
    return;
  }
  const auto* output = files.find(kOutput);
  const auto* shared = files.find(kShared);
  const bool is_copy =
      output != nullptr && shared != nullptr && output->dtype == shared->dtype &&
      output->shape == shared->shape && output->bytes.size() == shared->bytes.size() &&
      std::memcmp(output->bytes.data(), shared->bytes.data(), output->bytes.size()) == 0;
  options.tie_word_embeddings = output == nullptr || is_copy;
}

std::string t5_stack_of(bool is_decoder) { return is_decoder ? "decoder_layers." : "layers."; }
std::string side_of(bool is_decoder) { return is_decoder ? "decoder." : "encoder."; }

void add_t5_layer(WeightMapBuilder& builder,
                  const ModelOptions& options,
                  bool is_decoder,
                  int64_t layer,
                  FeedForwardTensors add_feed_forward) {
  const auto parameter = str_cat(t5_stack_of(is_decoder), layer, ".");
  const auto hf_prefix =
      str_cat(side_of(is_decoder), "block.", layer, ".layer.");  // followed by sub-layer numbers
  const int64_t dim = options.dim;
  const int64_t heads = is_decoder ? options.decoder.heads : options.heads;
  const int64_t inner = heads * options.head_dim;
  const auto linear = [&](const std::string& name, const std::string& hf_name, int64_t inputs,
                          int64_t outputs, int64_t first = 0) {
    builder.linear(parameter + name, hf_name, {inputs, outputs, false, first});
  };
  const auto own = hf_prefix + "0.SelfAttention.";
  builder.norm(parameter + "attention_norm", hf_prefix + "0.layer_norm", dim, false);
  linear("attention.qkv", own + "q", dim, inner);
  linear("attention.qkv", own + "k", dim, inner, inner);
  linear("attention.qkv", own + "v", dim, inner, 2 * inner);
  linear("attention.output", own + "o", inner, dim);
  if (layer == 0) {
    builder.table(t5_stack_of(is_decoder) + "relative_bias", own + "relative_attention_bias",
                  {options.relative.buckets, heads});
  }
  if (is_decoder) {
    const auto cross = hf_prefix + "1.EncDecAttention.";
    builder.norm(parameter + "cross_attention_norm", hf_prefix + "1.layer_norm", dim, false);
    linear("cross_attention.query", cross + "q", dim, inner);
    linear("cross_attention.key_value", cross + "k", dim, inner);
    linear("cross_attention.key_value", cross + "v", dim, inner, inner);
    linear("cross_attention.output", cross + "o", inner, dim);
  }
  const auto last = hf_prefix + (is_decoder ? "2." : "1.");
  builder.norm(parameter + "feed_forward_norm", last + "layer_norm", dim, false);
  add_feed_forward(builder, options, layer + (is_decoder ? options.layers : 0),
                   parameter + "feed_forward.", last);
}

void add_t5_feed_forward(WeightMapBuilder& builder,
                         const ModelOptions& options,
                         int64_t layer,
                         const std::string& parameter,
                         const std::string& hf_name) {
  const auto width = layer < options.layers ? options.width : options.decoder.width;
  const auto dense = hf_name + "DenseReluDense.";
  if (options.is_gated) {
    builder.linear(parameter + "up", dense + "wi_0", {options.dim, width, false});
    builder.linear(parameter + "up", dense + "wi_1", {options.dim, width, false, width});
  } else {
    builder.linear(parameter + "up", dense + "wi", {options.dim, width, false});
  }
  builder.linear(parameter + "down", dense + "wo", {width, options.dim, false});
}

void add_stack(WeightMapBuilder& builder,
               const ModelOptions& options,
               bool is_decoder,
               FeedForwardTensors add_feed_forward) {
  const int64_t layers = is_decoder ? options.decoder.layers : options.layers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    add_t5_layer(builder, options, is_decoder, layer, add_feed_forward);
  }
  builder.norm(str_cat(t5_stack_of(is_decoder), "norm"),
               str_cat(side_of(is_decoder), "final_layer_norm"), options.dim, false);
}

std::vector<StoredTensor> t5_tensors(const ModelOptions& options,
                                     FeedForwardTensors add_feed_forward) {
  WeightMapBuilder builder;
  builder.table("embeddings.word", "shared", {options.vocabulary, options.dim});
  add_stack(builder, options, false, add_feed_forward);
  if (!head_of(options).is_bare) {
    add_stack(builder, options, true, add_feed_forward);
  }
  if (generates(options) && !options.tie_word_embeddings) {
    builder.table("head", "lm_head", {options.vocabulary, options.dim}, Part::kHead);
  }
  return std::move(builder.result);
}

std::vector<std::string> t5_spellings(const StoredTensor& tensor, const ModelOptions& /*options*/) {
  if (tensor.name == kShared) {
    return {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"};
  }
  return {};
}

bool is_t5_harmless(std::string_view name, const ModelOptions& options) {
  return name == "encoder.embed_tokens.weight" || name == "decoder.embed_tokens.weight" ||
         (name == kOutput && options.tie_word_embeddings) ||
         name == "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
}

/// As in Mesh TensorFlow: queries start smaller, so scores need no scale.
Initializer t5_initial(const std::string& parameter, const ModelOptions& options) {
  const auto& decoder = options.decoder;
  const auto root = [](int64_t fan) { return 1 / std::sqrt(static_cast<double>(fan)); };
  const bool is_decoder = parameter.starts_with("decoder_layers.");
  const int64_t inner = (is_decoder ? decoder.heads : options.heads) * options.head_dim;
  Initializer values{.init_std = options.init_std * root(options.dim)};
  if (parameter == "embeddings.word.weight" || parameter == "head.weight") {
    values.init_std = options.init_std;
  } else if (parameter.ends_with("attention.output.weight")) {
    values.init_std = options.init_std * root(inner);
  } else if (parameter.ends_with("feed_forward.down.weight")) {
    values.init_std = options.init_std * root(is_decoder ? decoder.width : options.width);
  } else if (parameter.ends_with("attention.qkv.weight") ||
             parameter.ends_with("cross_attention.query.weight")) {
    values.first_rows = inner;
    values.first_scale = root(options.head_dim);
  }
  return values;
}

}  // namespace

namespace t5_family {

ModelOptions defaults() {
  ModelOptions options;
  options.dim = 512;
  options.layers = 6;
  options.heads = 8;
  options.width = 2048;
  options.length =
      512;  // relative positions have no limit; the training length of published models
  options.type_vocab_size = 0;
  options.activation = Activation::kRelu;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-6;
  options.init_std = 1;  // initializer_factor
  options.pad_id = 0;
  options.eos_id = 1;
  options.biases.attention = false;
  options.biases.feed_forward = false;
  options.biases.norm = false;
  options.activation_dropout = 0.1;
  auto& decoder = options.decoder;
  options.head_dim = 64;
  decoder.layers = 6;
  decoder.heads = 8;
  decoder.width = 2048;
  decoder.has_embedding_norm = false;
  decoder.scale_decoder_outputs = true;
  decoder.decoder_start_id = 0;
  return options;
}

FamilyDefinition definition(const HfNames& hf_names, FeedForwardTensors add_feed_forward) {
  auto made = encoder_decoder_definition(hf_names);
  made.heads = {{Head::kConditional, "ForConditionalGeneration"}, {Head::kNone, "EncoderModel"}};
  made.defaults = defaults;
  made.read_keys = read_t5_keys;
  made.read_json = read_t5_json;
  made.write_json = write_t5_json;
  made.infer_from_weights = infer_from_weights;
  made.tensors = [add_feed_forward](const auto& options) {
    return t5_tensors(options, add_feed_forward);
  };
  made.name_aliases = t5_spellings;
  made.is_ignorable = is_t5_harmless;
  made.initializer = t5_initial;
  made.norm_type = "rms";
  made.positions = [](const ModelOptions& options) -> std::vector<nn::PositionChoice> {
    return {{.type = "t5", .keys = "{}", .make = nn::t5_bias(options.relative)}};
  };
  made.capabilities.has_scaled_scores = false;
  made.capabilities.has_logits_bias = false;
  made.capabilities.has_output_dropout = true;
  made.capabilities.forces_eos = false;
  made.style = formats::TokenizerTemplate::kT5;
  return made;
}

}  // namespace t5_family

FamilyDefinition t5() {
  auto made = t5_family::definition({NormPlacement::kPre, "t5", "", "T5"}, add_t5_feed_forward);
  made.presets = t5_presets;
  return made;
}

FamilyDefinition mt5() {
  auto made = t5_family::definition({NormPlacement::kPre, "mt5", "", "MT5"}, add_t5_feed_forward);
  made.defaults = mt5_defaults;
  made.presets = mt5_presets;
  made.read_json = read_mt5_json;
  made.write_json = write_mt5_json;
  return made;
}

}  // namespace weft::models
