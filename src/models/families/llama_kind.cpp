#include "models/families/llama_kind.h"

#include <algorithm>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"

namespace weft::models::llama_family {

namespace {

using formats::Json;

/// Values of absent keys.
ModelOptions absent(const JsonKeys& json) {
  auto options = json.defaults();
  options.vocabulary = json.vocabulary;
  options.dim = 4096;
  options.layers = 32;
  options.heads = 32;
  options.width = json.width;
  options.length = json.length;
  options.norm_epsilon = json.norm_epsilon;
  options.bos_id = json.bos_id;
  options.eos_id = json.eos_id;
  options.rope.theta = json.theta;
  return options;
}

void read_heads(const JsonFields& fields, ModelOptions& options, const JsonKeys& json) {
  const bool is_named = json.key_value_heads == 0 || fields.has("num_key_value_heads");
  options.key_value_heads = is_named ? options.heads : json.key_value_heads;
  fields.read("num_key_value_heads", options.key_value_heads, 1, kMostFeatures);
  options.head_dim = 0;
  fields.read("head_dim", options.head_dim, 1, kMostFeatures);
  if (options.heads % options.key_value_heads != 0) {
    fields.fail(
        "num_key_value_heads",
        str_cat(options.key_value_heads, " does not divide num_attention_heads ", options.heads));
  }
  if (options.head_dim == 0) {
    require_divisible_heads(fields, options);
  }
  if (options.head_dim * options.heads == options.dim) {
    options.head_dim = 0;
  }
  if (head_dim(options) % 2 != 0) {
    fields.fail("head_dim",
                str_cat("found ", head_dim(options),
                        ", must be even: rotary position embeddings rotate pairs of features"));
  }
}

/// Reads the first layer with a window from the list of layer types.
void read_layer_types(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has("layer_types") || !fields.at("layer_types").is_array()) {
    return;
  }
  const auto& types = fields.at("layer_types");
  if (static_cast<int64_t>(types.size()) != options.layers) {
    fields.fail("layer_types", str_cat("found ", types.size(), " entries, must be one for each of ",
                                       options.layers, " layers"));
  }
  int64_t first = options.layers;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const auto& type = types[static_cast<std::size_t>(layer)];
    if (type == "sliding_attention") {
      first = std::min(first, layer);
    } else if (type != "full_attention" || first < layer) {
      fields.fail("layer_types",
                  "must be full_attention in the first layers and sliding_attention after them");
    }
  }
  options.window.first_layer = first;
}

void read_window(const JsonFields& fields, ModelOptions& options, const JsonKeys& json) {
  options.window.size = 0;
  if (!json.has_window) {
    return;
  }
  bool is_used = !json.has_partial_window;
  if (json.has_partial_window) {
    fields.read("use_sliding_window", is_used);
    options.window.first_layer = 28;
    fields.read("max_window_layers", options.window.first_layer, 0, kMostLayers);
  }
  int64_t window = fields.is_null("sliding_window") ? 0 : json.default_window;
  fields.read("sliding_window", window, 1, kMostTokens);
  options.window.size = is_used ? window : 0;
  if (json.has_partial_window) {
    read_layer_types(fields, options);
  }
  if (options.window.size == 0) {
    options.window.first_layer = 0;
  }
}

void read_llama_json(const JsonFields& fields, ModelOptions& options, const JsonKeys& json) {
  options = apply_named(options, absent(json));
  read_stack_sizes(fields, options);
  read_heads(fields, options, json);
  read_rope(fields, options);
  if (options.rope.partial_factor < 1) {
    fields.fail("partial_rotary_factor", "must be 1: all features of a head are rotated");
  }
  read_window(fields, options, json);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("rms_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  if (json.has_biases) {
    fields.read("attention_bias", options.biases.attention);
    options.biases.attention_output = options.biases.attention;
    fields.read("mlp_bias", options.biases.feed_forward);
  }
  if (json.read_more != nullptr) {
    json.read_more(fields, options);
  }
  options.bos_id = std::min(options.bos_id, options.vocabulary - 1);
  options.eos_id = std::min(options.eos_id, options.vocabulary - 1);
  read_ids(fields, options);
}

void write_window(Json& json, const ModelOptions& options, const JsonKeys& keys) {
  if (keys.has_partial_window) {
    json["use_sliding_window"] = options.window.size > 0;
  }
  if (keys.has_window) {
    json["sliding_window"] = options.window.size > 0 ? Json(options.window.size) : Json(nullptr);
  }
  if (keys.has_partial_window) {
    json["max_window_layers"] =
        options.window.size > 0 ? options.window.first_layer : options.layers;
  }
}

void write_llama_json(Json& json, const ModelOptions& options, const JsonKeys& keys) {
  json["vocab_size"] = options.vocabulary;
  json["hidden_size"] = options.dim;
  json["num_hidden_layers"] = options.layers;
  json["num_attention_heads"] = options.heads;
  json["num_key_value_heads"] = key_value_heads(options);
  if (keys.always_has_head_dim || options.head_dim > 0) {
    json["head_dim"] = head_dim(options);
  }
  json["intermediate_size"] = options.width;
  json["max_position_embeddings"] = options.length;
  json["hidden_act"] = hf_activation_name(options.activation);
  json["rms_norm_eps"] = options.norm_epsilon;
  json["initializer_range"] = options.init_std;
  json["attention_dropout"] = options.attention_dropout;
  json["rope_parameters"] = rope_json(options);
  json["rope_theta"] = options.rope.theta;
  if (keys.has_biases) {
    json["attention_bias"] = options.biases.attention;
    json["mlp_bias"] = options.biases.feed_forward;
  }
  write_window(json, options, keys);
  if (keys.write_more != nullptr) {
    keys.write_more(json, options);
  }
  json["use_cache"] = true;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

void add_llama_layer(WeightMapBuilder& builder,
                     const ModelOptions& options,
                     const std::string& parameter,
                     const std::string& hf_name) {
  const int64_t dim = options.dim;
  const int64_t q_size = query_width(options);
  const int64_t kv_size = key_width(options);
  const bool has_bias = options.biases.attention;
  const auto qkv = parameter + "attention.qkv";
  builder.norm(parameter + "attention_norm", hf_name + "input_layernorm", dim, false);
  builder.linear(qkv, hf_name + "self_attn.q_proj", {dim, q_size, has_bias});
  builder.linear(qkv, hf_name + "self_attn.k_proj", {dim, kv_size, has_bias, q_size});
  builder.linear(qkv, hf_name + "self_attn.v_proj", {dim, kv_size, has_bias, q_size + kv_size});
  builder.linear(parameter + "attention.output", hf_name + "self_attn.o_proj",
                 {q_size, dim, options.biases.attention_output});
  builder.norm(parameter + "feed_forward_norm", hf_name + "post_attention_layernorm", dim, false);
}

std::vector<StoredTensor> llama_tensors(const ModelOptions& options,
                                        FeedForwardTensors add_feed_forward) {
  const std::string prefix = head_of(options).is_bare ? "" : "model.";
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embed_tokens", {options.vocabulary, options.dim});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const auto parameter = str_cat("layers.", layer, ".");
    const auto hf_name = str_cat(prefix, "layers.", layer, ".");
    add_llama_layer(builder, options, parameter, hf_name);
    add_feed_forward(builder, options, parameter, hf_name);
  }
  builder.norm("layers.norm", prefix + "norm", options.dim, false);
  add_causal_head(builder, options, "lm_head", "score");
  return builder.result;
}

bool says_llama_nothing(std::string_view name, const ModelOptions& options) {
  return name.ends_with(".rotary_emb.inv_freq") ||
         (options.tie_word_embeddings && name == "lm_head.weight");
}

Initializer llama_initial(const std::string& parameter, const ModelOptions& options) {
  return {.init_std = options.init_std, .zeroes_padding = parameter == "embeddings.word.weight"};
}

}  // namespace

ModelOptions defaults() {
  ModelOptions options;
  options.dim = 2048;
  options.layers = 16;
  options.heads = 32;
  options.width = 8192;
  options.length = 2048;
  options.type_vocab_size = 0;
  options.activation = kernels::Activation::kSilu;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-5;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.tie_word_embeddings = false;
  options.is_gated = true;
  options.biases.attention = false;
  options.biases.feed_forward = false;
  options.biases.norm = false;
  options.biases.attention_output = false;
  options.key_value_heads = 8;
  options.pad_id = -1;
  return options;
}

ModelOptions sized_decoder(ModelOptions options, const Size& size) {
  options.layers = size.layers;
  options.dim = size.dim;
  options.heads = size.heads;
  options.key_value_heads = size.key_value_heads;
  options.width = size.width;
  options.length = size.length;
  return options;
}

void add_gated_feed_forward(WeightMapBuilder& builder,
                            const ModelOptions& options,
                            const std::string& parameter,
                            const std::string& hf_name) {
  const int64_t dim = options.dim;
  const bool has_wide_bias = options.biases.feed_forward;
  const auto up = parameter + "feed_forward.up";
  builder.linear(up, hf_name + "mlp.gate_proj", {dim, options.width, has_wide_bias});
  builder.linear(up, hf_name + "mlp.up_proj", {dim, options.width, has_wide_bias, options.width});
  builder.linear(parameter + "feed_forward.down", hf_name + "mlp.down_proj",
                 {options.width, dim, has_wide_bias});
}

FamilyDefinition definition(const HfNames& hf_names,
                            const JsonKeys& keys,
                            FeedForwardTensors add_feed_forward) {
  auto made = causal_definition(hf_names);
  made.norm_type = "rms";
  made.positions = rotary_positions;
  made.defaults = keys.defaults;
  made.read_json = [keys](const auto& fields, auto& options) {
    read_llama_json(fields, options, keys);
  };
  made.write_json = [keys](auto& json, const auto& options) {
    write_llama_json(json, options, keys);
  };
  made.tensors = [add_feed_forward](const auto& options) {
    return llama_tensors(options, add_feed_forward);
  };
  made.is_ignorable = says_llama_nothing;
  made.initializer = llama_initial;
  return made;
}

}  // namespace weft::models::llama_family
