#include <algorithm>
#include <cmath>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/causal_family.h"
#include "models/families/families.h"
#include "nn/position/position.h"
#include "nn/residual_scale.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

using formats::Json;

ModelOptions gpt2_defaults() {
  ModelOptions options;
  options.length = 1024;
  options.type_vocab_size = 0;
  options.activation = kernels::Activation::kGeluTanh;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-5;
  options.embedding_dropout = 0.1;
  options.pad_id = -1;
  return options;
}

ModelOptions gpt2_mini() {
  auto options = sized(gpt2_defaults(), {6, 384, 6});
  options.length = 512;
  return options;
}

/// AWD-LSTM (arXiv:1708.02182, section 5): three plain layers, the last as wide as the embeddings,
/// which are the output matrix, too.
ModelOptions awd_lstm() {
  auto options = sized(gpt2_defaults(), {3, 400, 8});
  options.embedding_dropout = 0.4;
  options.dropout = 0.3;
  auto& types = options.layer_types;
  types.block = "r";
  auto& layers = types.sublayers["recurrent"].cycle;
  for (const int64_t width : {1150, 1150, 400}) {
    auto keys = config::Document::parse(str_cat("{cell: lstm, width: ", width,
                                                ", output_projection: false, weight_dropout: 0.5}"),
                                        "awd-lstm")
                    .root();
    layers.push_back(nn::read_component(keys, nn::sublayer_kinds().at("recurrent")));
  }
  types.residual = nn::default_component(nn::residual_types(), "none");
  types.norm_place = NormPlacement::kNone;
  types.positions = {nn::default_component(nn::position_types(), "none")};
  return options;
}

std::vector<Preset> gpt2_presets() {
  const auto begin = gpt2_defaults();
  return {{"gpt-mini", gpt2_mini()},
          {"gpt2", sized(begin, {12, 768, 12})},
          {"gpt2-medium", sized(begin, {24, 1024, 16})},
          {"gpt2-large", sized(begin, {36, 1280, 20})},
          {"gpt2-xl", sized(begin, {48, 1600, 25})},
          {"awd-lstm", awd_lstm()}};
}

void read_gpt2_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(
      section, options, base,
      {.pooling = "last", .has_layer_scale = true, .has_embedding_dropout = true});
}

void refuse_gpt2_foreign(const JsonFields& fields) {
  require(fields, "add_cross_attention", false, "this family has no encoder");
  require(fields, "scale_attn_weights", true, "attention scores are always scaled");
}

void read_gpt2_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, gpt2_defaults());
  options.vocabulary = 50257;
  options.bos_id = 50256;
  options.eos_id = 50256;
  for (const auto* key : {"hidden_size", "n_embd"}) {
    fields.read_size(key, options.dim, kMostFeatures);
  }
  for (const auto* key : {"num_hidden_layers", "n_layer"}) {
    fields.read_size(key, options.layers, kMostLayers);
  }
  for (const auto* key : {"num_attention_heads", "n_head"}) {
    fields.read_size(key, options.heads, kMostFeatures);
  }
  for (const auto* key : {"max_position_embeddings", "n_ctx", "n_positions"}) {
    fields.read_size(key, options.length, kMostTokens);
  }
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  options.width = 4 * options.dim;
  fields.read("n_inner", options.width, 1, kMostFeatures);
  if (options.dim % options.heads != 0) {
    fields.fail("n_head", str_cat(options.heads, " does not divide n_embd ", options.dim));
  }
  read_activation(fields, "activation_function", options.activation);
  fields.read("layer_norm_epsilon", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read("resid_pdrop", options.dropout, 0.0, 1.0);
  fields.read("embd_pdrop", options.embedding_dropout, 0.0, 1.0);
  fields.read("attn_pdrop", options.attention_dropout, 0.0, 1.0);
  fields.read("scale_attn_by_inverse_layer_idx", options.scale_attn_by_inverse_layer_idx);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  refuse_gpt2_foreign(fields);
  options.bos_id = std::min(options.bos_id, options.vocabulary - 1);
  options.eos_id = std::min(options.eos_id, options.vocabulary - 1);
  read_ids(fields, options);
}

void write_gpt2_json(Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["n_positions"] = options.length;
  json["n_embd"] = options.dim;
  json["n_layer"] = options.layers;
  json["n_head"] = options.heads;
  json["n_inner"] = options.width == 4 * options.dim ? Json(nullptr) : Json(options.width);
  json["activation_function"] = options.activation == kernels::Activation::kGeluTanh
                                    ? "gelu_new"
                                    : hf_activation_name(options.activation);
  json["resid_pdrop"] = options.dropout;
  json["embd_pdrop"] = options.embedding_dropout;
  json["attn_pdrop"] = options.attention_dropout;
  json["layer_norm_epsilon"] = options.norm_epsilon;
  json["initializer_range"] = options.init_std;
  json["scale_attn_weights"] = true;
  json["scale_attn_by_inverse_layer_idx"] = options.scale_attn_by_inverse_layer_idx;
  json["reorder_and_upcast_attn"] = false;
  json["add_cross_attention"] = false;
  json["use_cache"] = true;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

std::vector<StoredTensor> gpt2_tensors(const ModelOptions& options) {
  const int64_t dim = options.dim;
  const std::string prefix = head_of(options).is_bare ? "" : "transformer.";
  WeightMapBuilder builder;
  // Matrices are stored (inputs, outputs).
  const auto linear = [&](const std::string& parameter, const std::string& hf_name, int64_t inputs,
                          int64_t outputs) {
    builder.linear(parameter, hf_name,
                   {.inputs = inputs, .outputs = outputs, .is_transposed = true});
  };
  builder.table("embeddings.word", prefix + "wte", {options.vocabulary, dim});
  builder.table("embeddings.position", prefix + "wpe", {options.length, dim});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const auto parameter = str_cat("layers.", layer, ".");
    const auto hf_name = str_cat(prefix, "h.", layer, ".");
    builder.norm(parameter + "attention_norm", hf_name + "ln_1", dim);
    linear(parameter + "attention.qkv", hf_name + "attn.c_attn", dim, 3 * dim);
    linear(parameter + "attention.output", hf_name + "attn.c_proj", dim, dim);
    builder.norm(parameter + "feed_forward_norm", hf_name + "ln_2", dim);
    linear(parameter + "feed_forward.up", hf_name + "mlp.c_fc", dim, options.width);
    linear(parameter + "feed_forward.down", hf_name + "mlp.c_proj", options.width, dim);
  }
  if (options.norm_placement == NormPlacement::kPre) {
    builder.norm("layers.norm", prefix + "ln_f", dim);
  }
  add_causal_head(builder, options, "lm_head", "classifier");
  return builder.result;
}

/// Ignores the causal mask of early files, and tied copies.
bool says_gpt2_nothing(std::string_view name, const ModelOptions& options) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         (options.tie_word_embeddings && name == "lm_head.weight");
}

/// Matrices that write to the residual start smaller with more layers (section 2.3 of the paper).
Initializer gpt2_initial(const std::string& parameter, const ModelOptions& options) {
  const auto is_of = [&](const char* sublayer, const char* matrix) {
    return parameter.find(sublayer) != std::string::npos && parameter.ends_with(matrix);
  };
  const bool enters_stream = is_of(".attention", ".output.weight") ||
                             is_of(".convolution", ".output.weight") ||
                             is_of(".feed_forward", ".down.weight");
  return {.init_std = enters_stream
                          ? options.init_std / std::sqrt(2.0 * static_cast<double>(options.layers))
                          : options.init_std};
}

}  // namespace

FamilyDefinition gpt2() {
  auto made = causal_definition({NormPlacement::kPre, "gpt2", "transformer", "GPT2"});
  made.hf_names.push_back(
      {NormPlacement::kPost, "weft-gpt2-postnorm", "transformer", "WeftGpt2PostNorm"});
  made.heads[1].class_suffix = "LMHeadModel";
  made.defaults = gpt2_defaults;
  made.presets = gpt2_presets;
  made.read_keys = read_gpt2_keys;
  made.read_json = read_gpt2_json;
  made.write_json = write_gpt2_json;
  made.tensors = gpt2_tensors;
  made.is_ignorable = says_gpt2_nothing;
  made.initializer = gpt2_initial;
  return made;
}

}  // namespace weft::models
