#include <algorithm>

#include "base/string_util.h"
#include "models/causal_model.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/causal_family.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using formats::Json;

ModelOptions gpt_neox_defaults() {
  ModelOptions options;
  options.length = 2048;
  options.type_vocab_size = 0;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-5;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.tie_word_embeddings = false;
  options.rope.partial_factor = 0.25;
  options.is_parallel = true;
  options.pad_id = -1;
  return options;
}

std::vector<Preset> gpt_neox_presets() {
  const auto begin = gpt_neox_defaults();
  return {{"pythia-14m", sized(begin, {6, 128, 4})},
          {"pythia-70m", sized(begin, {6, 512, 8})},
          {"pythia-160m", sized(begin, {12, 768, 12})},
          {"pythia-410m", sized(begin, {24, 1024, 16})}};
}

void read_gpt_neox_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(section, options, base, {.pooling = "last", .has_rotary = true});
}

/// Checks that rotated features form whole pairs, counted as in transformers.
void check_rotary(const JsonFields& fields, const ModelOptions& options) {
  const auto width = nn::rotary_width(options.rope, head_dim(options));
  if (width < 2 || width % 2 != 0) {
    fields.fail("rope_parameters",
                str_cat("partial_rotary_factor rotates ", width, " of the ", head_dim(options),
                        " features of a head, must be an even number of at least 2"));
  }
}

void read_gpt_neox_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, gpt_neox_defaults());
  options.vocabulary = 50432;
  options.dim = 6144;
  options.layers = 44;
  options.heads = 64;
  options.width = 24576;
  options.bos_id = 0;
  options.eos_id = 2;
  options.classifier_dropout = 0.1;
  read_stack_sizes(fields, options);
  require_divisible_heads(fields, options);
  read_rope(fields, options);
  check_rotary(fields, options);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read("hidden_dropout", options.dropout, 0.0, 1.0);
  options.embedding_dropout = options.dropout;
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("classifier_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("use_parallel_residual", options.is_parallel);
  fields.read("attention_bias", options.biases.attention);
  options.biases.attention_output = options.biases.attention;
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  options.eos_id = std::min(options.eos_id, options.vocabulary - 1);
  read_ids(fields, options);
}

void write_gpt_neox_json(Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["hidden_size"] = options.dim;
  json["num_hidden_layers"] = options.layers;
  json["num_attention_heads"] = options.heads;
  json["intermediate_size"] = options.width;
  json["max_position_embeddings"] = options.length;
  json["hidden_act"] = hf_activation_name(options.activation);
  json["layer_norm_eps"] = options.norm_epsilon;
  json["initializer_range"] = options.init_std;
  json["hidden_dropout"] = options.dropout;
  json["attention_dropout"] = options.attention_dropout;
  json["classifier_dropout"] = options.classifier_dropout.value_or(0.1);
  json["rope_parameters"] = rope_json(options);
  json["rotary_pct"] = options.rope.partial_factor;
  json["rotary_emb_base"] = options.rope.theta;
  json["use_parallel_residual"] = options.is_parallel;
  json["attention_bias"] = options.biases.attention;
  json["use_cache"] = true;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

void add_gpt_neox_layer(WeightMapBuilder& builder,
                        const ModelOptions& options,
                        const std::string& parameter,
                        const std::string& hf_name) {
  const int64_t dim = options.dim;
  builder.norm(parameter + "attention_norm", hf_name + "input_layernorm", dim);
  builder.linear(parameter + "attention.qkv", hf_name + "attention.query_key_value",
                 {.inputs = dim,
                  .outputs = 3 * dim,
                  .has_bias = options.biases.attention,
                  .interleaved_heads = options.heads});
  builder.linear(parameter + "attention.output", hf_name + "attention.dense",
                 {.inputs = dim, .outputs = dim, .has_bias = options.biases.attention_output});
  builder.norm(parameter + "feed_forward_norm", hf_name + "post_attention_layernorm", dim);
  builder.linear(parameter + "feed_forward.up", hf_name + "mlp.dense_h_to_4h",
                 {.inputs = dim, .outputs = options.width});
  builder.linear(parameter + "feed_forward.down", hf_name + "mlp.dense_4h_to_h",
                 {.inputs = options.width, .outputs = dim});
}

std::vector<StoredTensor> gpt_neox_tensors(const ModelOptions& options) {
  const std::string prefix = head_of(options).is_bare ? "" : "gpt_neox.";
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embed_in", {options.vocabulary, options.dim});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_gpt_neox_layer(builder, options, str_cat("layers.", layer, "."),
                       str_cat(prefix, "layers.", layer, "."));
  }
  builder.norm("layers.norm", prefix + "final_layer_norm", options.dim);
  add_causal_head(builder, options, "embed_out", "classifier");
  return builder.result;
}

/// Ignores buffers of older files, and tied copies.
bool says_gpt_neox_nothing(std::string_view name, const ModelOptions& options) {
  return name.ends_with(".attention.bias") || name.ends_with(".attention.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq") ||
         (options.tie_word_embeddings && name == "embed_out.weight");
}

}  // namespace

FamilyDefinition gpt_neox() {
  auto made = causal_definition({NormPlacement::kPre, "gpt_neox", "gpt_neox", "GPTNeoX"});
  made.defaults = gpt_neox_defaults;
  made.positions = rotary_positions;
  made.presets = gpt_neox_presets;
  made.read_keys = read_gpt_neox_keys;
  made.read_json = read_gpt_neox_json;
  made.write_json = write_gpt_neox_json;
  made.tensors = gpt_neox_tensors;
  made.is_ignorable = says_gpt_neox_nothing;
  return made;
}

}  // namespace weft::models
