#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/causal_family.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using formats::Json;

ModelOptions llama_defaults() {
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

ModelOptions mistral_defaults() {
  auto options = llama_defaults();
  options.window.size = 4096;
  return options;
}

ModelOptions qwen2_defaults() {
  auto options = llama_defaults();
  options.biases.attention = true;
  return options;
}

struct Size {
  int64_t layers;
  int64_t dim;
  int64_t heads;
  int64_t key_value_heads;
  int64_t width;
  int64_t length;
};

ModelOptions sized_decoder(ModelOptions options, const Size& size) {
  options.layers = size.layers;
  options.dim = size.dim;
  options.heads = size.heads;
  options.key_value_heads = size.key_value_heads;
  options.width = size.width;
  options.length = size.length;
  return options;
}

ModelOptions tied(ModelOptions options) {
  options.tie_word_embeddings = true;
  return options;
}

ModelOptions turned(ModelOptions options, double theta) {
  options.rope.theta = theta;
  return options;
}

/// Llama 3.1 and later, with scaled rotary positions.
ModelOptions stretched(ModelOptions options, double factor) {
  options.rope.theta = 500'000;
  options.rope.scaling = {.type = kernels::RotaryScalingType::kLlama3, .factor = factor};
  return options;
}

std::vector<Preset> llama_presets() {
  const auto begin = llama_defaults();
  return {
      {"llama-mini", tied(sized_decoder(begin, {4, 256, 4, 2, 688, 512}))},
      {"smollm-135m", tied(sized_decoder(begin, {30, 576, 9, 3, 1536, 2048}))},
      {"tinyllama-1.1b", sized_decoder(begin, {22, 2048, 32, 4, 5632, 2048})},
      {"llama-2-7b", sized_decoder(begin, {32, 4096, 32, 32, 11008, 4096})},
      {"llama-3.2-1b", tied(stretched(sized_decoder(begin, {16, 2048, 32, 8, 8192, 131072}), 32))}};
}

std::vector<Preset> mistral_presets() {
  return {{"mistral-7b", sized_decoder(mistral_defaults(), {32, 4096, 32, 8, 14336, 32768})}};
}

std::vector<Preset> qwen2_presets() {
  auto options = turned(sized_decoder(qwen2_defaults(), {24, 896, 14, 2, 4864, 131072}), 1'000'000);
  options.norm_epsilon = 1e-6;
  return {{"qwen2-0.5b", tied(options)}};
}

constexpr SharedModelKeys kLlamaKeys = {
    .has_dropout = false, .pooling = "last", .has_rotary = true, .has_grouped_heads = true};

void read_llama_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto keys = kLlamaKeys;
  keys.has_biases = true;
  read_shared_model_keys(section, options, base, keys);
  options.biases.attention_output = options.biases.attention;
}

void read_mistral_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto keys = kLlamaKeys;
  keys.has_window = true;
  read_shared_model_keys(section, options, base, keys);
}

void read_qwen2_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(section, options, base, kLlamaKeys);
}

/// What differs between config.json of the families.
struct LlamaJson {
  ModelOptions (*defaults)() = nullptr;
  int64_t vocabulary = 32000;
  int64_t width = 14336;
  int64_t length = 131072;
  int64_t bos_id = 1;
  int64_t eos_id = 2;
  int64_t key_value_heads = 0;      // 0: as many as heads
  bool has_biases = false;          // attention_bias, mlp_bias
  bool has_window = false;          // sliding_window
  bool has_partial_window = false;  // in the last layers: use_sliding_window, max_window_layers
  bool always_has_head_dim = true;  // written even if it is dim / heads
};

constexpr LlamaJson kLlamaJson = {
    .defaults = llama_defaults, .width = 11008, .length = 2048, .has_biases = true};
constexpr LlamaJson kMistralJson = {
    .defaults = mistral_defaults, .key_value_heads = 8, .has_window = true};
constexpr LlamaJson kQwen2Json = {.defaults = qwen2_defaults,
                                  .vocabulary = 151936,
                                  .width = 22016,
                                  .length = 32768,
                                  .bos_id = -1,
                                  .eos_id = -1,
                                  .has_window = true,
                                  .has_partial_window = true,
                                  .always_has_head_dim = false};

/// Values of absent keys.
ModelOptions absent(const LlamaJson& json) {
  auto options = json.defaults();
  options.vocabulary = json.vocabulary;
  options.dim = 4096;
  options.layers = 32;
  options.heads = 32;
  options.width = json.width;
  options.length = json.length;
  options.norm_epsilon = 1e-6;
  options.bos_id = json.bos_id;
  options.eos_id = json.eos_id;
  return options;
}

void read_heads(const JsonFields& fields, ModelOptions& options, const LlamaJson& json) {
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

void read_window(const JsonFields& fields, ModelOptions& options, const LlamaJson& json) {
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
  int64_t window = fields.is_null("sliding_window") ? 0 : 4096;
  fields.read("sliding_window", window, 1, kMostTokens);
  options.window.size = is_used ? window : 0;
  if (json.has_partial_window) {
    read_layer_types(fields, options);
  }
  if (options.window.size == 0) {
    options.window.first_layer = 0;
  }
}

void read_llama_json(const JsonFields& fields, ModelOptions& options, const LlamaJson& json) {
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
  options.bos_id = std::min(options.bos_id, options.vocabulary - 1);
  options.eos_id = std::min(options.eos_id, options.vocabulary - 1);
  read_ids(fields, options);
}

void write_window(Json& json, const ModelOptions& options, const LlamaJson& keys) {
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

void write_llama_json(Json& json, const ModelOptions& options, const LlamaJson& keys) {
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
  const bool has_wide_bias = options.biases.feed_forward;
  const auto qkv = parameter + "attention.qkv";
  builder.norm(parameter + "attention_norm", hf_name + "input_layernorm", dim, false);
  builder.linear(qkv, hf_name + "self_attn.q_proj", {dim, q_size, has_bias});
  builder.linear(qkv, hf_name + "self_attn.k_proj", {dim, kv_size, has_bias, q_size});
  builder.linear(qkv, hf_name + "self_attn.v_proj", {dim, kv_size, has_bias, q_size + kv_size});
  builder.linear(parameter + "attention.output", hf_name + "self_attn.o_proj",
                 {q_size, dim, options.biases.attention_output});
  builder.norm(parameter + "feed_forward_norm", hf_name + "post_attention_layernorm", dim, false);
  const auto up = parameter + "feed_forward.up";
  builder.linear(up, hf_name + "mlp.gate_proj", {dim, options.width, has_wide_bias});
  builder.linear(up, hf_name + "mlp.up_proj", {dim, options.width, has_wide_bias, options.width});
  builder.linear(parameter + "feed_forward.down", hf_name + "mlp.down_proj",
                 {options.width, dim, has_wide_bias});
}

std::vector<StoredTensor> llama_tensors(const ModelOptions& options) {
  const std::string prefix = head_of(options).is_bare ? "" : "model.";
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embed_tokens", {options.vocabulary, options.dim});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_llama_layer(builder, options, str_cat("layers.", layer, "."),
                    str_cat(prefix, "layers.", layer, "."));
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

FamilyDefinition llama_definition(const HfNames& hf_names, const LlamaJson& keys) {
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
  made.tensors = llama_tensors;
  made.is_ignorable = says_llama_nothing;
  made.initializer = llama_initial;
  return made;
}

}  // namespace

FamilyDefinition llama() {
  auto made = llama_definition({NormPlacement::kPre, "llama", "model", "Llama"}, kLlamaJson);
  made.presets = llama_presets;
  made.read_keys = read_llama_keys;
  return made;
}

FamilyDefinition mistral() {
  auto made = llama_definition({NormPlacement::kPre, "mistral", "model", "Mistral"}, kMistralJson);
  made.presets = mistral_presets;
  made.read_keys = read_mistral_keys;
  return made;
}

FamilyDefinition qwen2() {
  auto made = llama_definition({NormPlacement::kPre, "qwen2", "model", "Qwen2"}, kQwen2Json);
  made.presets = qwen2_presets;
  made.read_keys = read_qwen2_keys;
  made.style = formats::TokenizerTemplate::kQwen2;
  return made;
}

}  // namespace weft::models
