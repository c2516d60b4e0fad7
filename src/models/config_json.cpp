#include "models/config_json.h"

#include "base/text.h"
#include "models/baseline_config.h"
#include "models/family.h"
#include "models/family_definition.h"
#include "models/json_fields.h"
#include "models/label_json.h"
#include "models/modern.h"
#include "models/traits.h"

namespace weft::models {

using formats::Json;

namespace {

constexpr int64_t kMostFeatures = 1 << 20;
constexpr int64_t kMostLayers = 10'000;
constexpr int64_t kMostTokens = int64_t{1}
                                << 28;  // entries of a vocabulary, rows of a position table

std::string quote(std::string_view word) { return "'" + std::string(word) + "'"; }

/// What the config classes of transformers call the same things.
struct Keys {
  std::string_view dim = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view width = "intermediate_size";
  std::string_view activation = "hidden_act";
  std::string_view dropout = "hidden_dropout_prob";
  std::string_view attention_dropout = "attention_probs_dropout_prob";
  std::string_view epsilon = "layer_norm_eps";
};

Keys keys_of(Family family) {
  switch (family) {
    case Family::kBert:
    case Family::kRoberta:
    case Family::kXlmRoberta:
    case Family::kElectra:
    case Family::kBagOfWords:
    case Family::kDecomposableAttention:
    case Family::kTransformer:
    case Family::kGpt2:
    case Family::kLlama:
    case Family::kMistral:
    case Family::kQwen2:
    case Family::kGptNeoX:
    case Family::kT5:
    case Family::kMt5:
    case Family::kBart:
    case Family::kMbart:
    case Family::kMarian:
    case Family::kVit:
    case Family::kDeit:
    case Family::kXlm:
      return {};
    case Family::kModernBert:
      return {.activation = "hidden_activation",
              .dropout = "embedding_dropout",
              .attention_dropout = "attention_dropout",
              .epsilon = "norm_eps"};
    case Family::kDistilBert:
      return {.dim = "dim",
              .layers = "n_layers",
              .heads = "n_heads",
              .width = "hidden_dim",
              .activation = "activation",
              .dropout = "dropout",
              .attention_dropout = "attention_dropout"};
  }
  return {};
}

/// What absent keys mean: the defaults of the config classes of transformers.
void set_defaults(ModelOptions& options) {
  switch (options.family) {
    case Family::kBert:
      options.vocabulary = 30522;
      return;
    case Family::kRoberta:
    case Family::kXlmRoberta:
      options.vocabulary = options.family == Family::kRoberta ? 50265 : 30522;
      options.pad_id = 1;
      options.begin_id = 0;
      options.end_id = 2;
      return;
    case Family::kDistilBert:
      options.vocabulary = 30522;
      options.layers = 6;
      options.segments = 0;
      return;
    case Family::kElectra:
      options.vocabulary = 30522;
      options.dim = 256;
      options.heads = 4;
      options.width = 1024;
      options.embedding_dim = 128;
      return;
    case Family::kModernBert:
      options = modern_defaults();
      options.vocabulary = 50368;
      options.pad_id = 50283;
      options.begin_id = 50281;
      options.end_id = 50282;
      return;
    case Family::kBagOfWords:
    case Family::kDecomposableAttention:
      options = baseline_defaults(options.family);
      return;
    case Family::kTransformer:
    case Family::kGpt2:
    case Family::kLlama:
    case Family::kMistral:
    case Family::kQwen2:
    case Family::kGptNeoX:
    case Family::kT5:
    case Family::kMt5:
    case Family::kBart:
    case Family::kMbart:
    case Family::kMarian:
    case Family::kVit:
    case Family::kDeit:
    case Family::kXlm:
      return;  // their definitions set them
  }
}

/// Family and place of the norms.
void read_type(const JsonFields& fields, ModelOptions& options) {
  std::string type;
  fields.read("model_type", type);
  const auto* facts = find_model_type(type);
  if (facts == nullptr) {
    const auto found = fields.has("model_type") ? quote(type) : std::string("nothing");
    fields.fail("model_type", "found " + found + ", allowed is " + join(known_model_types()));
  }
  options.family = facts->family;
  options.norm_place = facts->norm_place;
}

void read_head(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has("architectures")) {
    return;
  }
  const auto& list = fields.at("architectures");
  if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
    fields.fail("architectures", "a list with one name is expected");
  }
  const auto name = list[0].get<std::string>();
  std::vector<std::string> allowed;
  for (const auto& head : heads_of(options.family)) {
    options.head = head.head;
    if (architecture_of(options) == name) {
      return;
    }
    allowed.push_back(architecture_of(options));
  }
  fields.fail("architectures",
              "found " + quote(name.substr(0, 80)) + ", allowed is " + join(allowed));
}

/// transformers writes one id, or a list of ids of which the first counts here; null says that
/// there is none.
void read_id(const JsonFields& fields, std::string_view key, int64_t& id, int64_t vocabulary) {
  if (fields.is_null(key)) {
    id = -1;
  } else if (fields.has(key) && fields.at(key).is_array()) {
    const auto& list = fields.at(key);
    const bool is_fine = !list.empty() && list[0].is_number_integer();
    id = is_fine ? list[0].get<int64_t>() : vocabulary;
    if (id < 0 || id >= vocabulary) {
      fields.fail(key, text("a list of ids from 0 to ", vocabulary - 1, " is expected"));
    }
  } else {
    fields.read(key, id, 0, vocabulary - 1);
  }
}

void read_sizes(const JsonFields& fields, ModelOptions& options) {
  const auto keys = keys_of(options.family);
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  // Where a family has a word of its own, the common one is known to its config class too.
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size(keys.dim, options.dim, kMostFeatures);
  fields.read_size(keys.layers, options.layers, kMostLayers);
  fields.read_size(keys.heads, options.heads, kMostFeatures);
  fields.read_size(keys.width, options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  const auto& traits = traits_of(options.family);
  if (traits.has_segments) {
    fields.read_size("type_vocab_size", options.segments, kMostTokens);
  }
  if (traits.projects_embeddings) {
    fields.read_size("embedding_size", options.embedding_dim, kMostFeatures);
  }
  if (options.dim % options.heads != 0) {
    fields.fail(keys.heads, text(options.heads, " does not divide ", keys.dim, " ", options.dim));
  }
}

void read_ids(const JsonFields& fields, ModelOptions& options) {
  read_id(fields, "pad_token_id", options.pad_id, options.vocabulary);
  if (traits_of(options.family).counts_from_pad && options.pad_id < 0) {
    fields.fail("pad_token_id", "found null, an id is expected: positions are counted from it");
  }
  read_id(fields, "bos_token_id", options.begin_id, options.vocabulary);
  read_id(fields, "eos_token_id", options.end_id, options.vocabulary);
  if (position_offset(options) >= options.length) {
    fields.fail("max_position_embeddings",
                text(options.length, " leaves no position after the pad id ", options.pad_id));
  }
  options.length -= position_offset(options);
}

void read_activation(const JsonFields& fields, std::string_view key, ModelOptions& options) {
  std::string activation = "gelu";
  fields.read(key, activation);
  std::vector<std::string> allowed;
  bool is_known = false;
  for (const auto& [name, value] : stored_activations()) {
    allowed.emplace_back(name);
    if (name == activation) {
      options.activation = value;
      is_known = true;
    }
  }
  if (!is_known) {
    fields.fail(key, "found " + quote(activation.substr(0, 80)) + ", allowed is " + join(allowed));
  }
}

void read_arithmetic(const JsonFields& fields, ModelOptions& options) {
  const auto keys = keys_of(options.family);
  const auto& traits = traits_of(options.family);
  read_activation(fields, keys.activation, options);
  if (!traits.has_fixed_epsilon) {
    fields.read(keys.epsilon, options.norm_epsilon, 0.0, 1.0);
  }
  fields.read("initializer_range", options.deviation, 0.0, 100.0);
  fields.read(keys.dropout, options.dropout, 0.0, 1.0);
  fields.read(keys.attention_dropout, options.attention_dropout, 0.0, 1.0);
  if (traits.has_own_dropouts) {
    fields.read("seq_classif_dropout", options.sequence_dropout, 0.0, 1.0);
    fields.read("qa_dropout", options.span_dropout, 0.0, 1.0);
    fields.read("sinusoidal_pos_embds", options.begins_sinusoidal);
  }
  if (fields.has("classifier_dropout")) {
    double dropout = 0;
    fields.read("classifier_dropout", dropout, 0.0, 1.0);
    options.head_dropout = dropout;
  }
  fields.read("tie_word_embeddings", options.ties_embeddings);
}

/// What the keys would change and this program does not compute.
void refuse_foreign(const JsonFields& fields) {
  for (const auto* key : {"is_decoder", "add_cross_attention"}) {
    bool is_on = false;
    fields.read(key, is_on);
    if (is_on) {
      fields.fail(key, "found true, allowed is false: this family is an encoder here");
    }
  }
  std::string position = "absolute";
  fields.read("position_embedding_type", position);
  if (position != "absolute") {
    fields.fail("position_embedding_type",
                "found " + quote(position.substr(0, 80)) + ", allowed is 'absolute'");
  }
}

std::string_view torch_name(formats::DType dtype) {
  return dtype == formats::DType::kBF16  ? "bfloat16"
         : dtype == formats::DType::kF16 ? "float16"
                                         : "float32";
}

Json id_or_null(int64_t id) { return id < 0 ? Json(nullptr) : Json(id); }

void write_sizes(Json& json, const ModelOptions& options) {
  const auto keys = keys_of(options.family);
  const auto& traits = traits_of(options.family);
  json["vocab_size"] = options.vocabulary;
  json[keys.dim] = options.dim;
  json[keys.layers] = options.layers;
  json[keys.heads] = options.heads;
  json[keys.width] = options.width;
  json["max_position_embeddings"] = options.length + position_offset(options);
  if (traits.has_segments) {
    json["type_vocab_size"] = options.segments;
  }
  if (traits.projects_embeddings) {
    json["embedding_size"] = embedding_width(options);
  }
}

void write_arithmetic(Json& json, const ModelOptions& options) {
  const auto keys = keys_of(options.family);
  json[keys.activation] = stored_activation(options.activation);
  json[keys.dropout] = options.dropout;
  json[keys.attention_dropout] = options.attention_dropout;
  json["classifier_dropout"] = options.head_dropout ? Json(*options.head_dropout) : Json(nullptr);
  json["initializer_range"] = options.deviation;
  if (traits_of(options.family).has_own_dropouts) {
    json["seq_classif_dropout"] = options.head_dropout.value_or(options.sequence_dropout);
    json["qa_dropout"] = options.head_dropout.value_or(options.span_dropout);
    json["sinusoidal_pos_embds"] = options.begins_sinusoidal;
    json["tie_weights_"] = options.ties_embeddings;
  } else {
    json[keys.epsilon] = options.norm_epsilon;
    json["position_embedding_type"] = "absolute";
  }
}

}  // namespace

ModelOptions options_from_json(const Json& json, const std::string& place) {
  const JsonFields fields(json, place);
  ModelOptions options;
  read_type(fields, options);
  set_defaults(options);
  read_head(fields, options);
  if (const auto* definition = find_definition(options.family)) {
    definition->read_json(fields, options);
    read_labels(fields, options);
    return options;
  }
  if (is_baseline(options.family)) {
    read_baseline(fields, options);
    read_labels(fields, options);
    return options;
  }
  read_sizes(fields, options);
  read_ids(fields, options);
  read_arithmetic(fields, options);
  if (is_modern(options.family)) {
    read_modern(fields, options);
  }
  refuse_foreign(fields);
  read_labels(fields, options);
  return options;
}

Json json_from_options(const ModelOptions& options, formats::DType dtype) {
  Json json;
  json["architectures"] = Json::array({architecture_of(options)});
  json["model_type"] = facts_of(options).model_type;
  json["dtype"] = torch_name(dtype);
  if (const auto* definition = find_definition(options.family)) {
    definition->write_json(json, options);
    write_labels(json, options);
    return json;
  }
  if (is_baseline(options.family)) {
    write_baseline(json, options);
    write_labels(json, options);
    return json;
  }
  write_sizes(json, options);
  write_arithmetic(json, options);
  if (is_modern(options.family)) {
    write_modern(json, options);
  }
  json["tie_word_embeddings"] = options.ties_embeddings;
  json["pad_token_id"] = id_or_null(options.pad_id);
  json["bos_token_id"] = id_or_null(options.begin_id);
  json["eos_token_id"] = id_or_null(options.end_id);
  write_labels(json, options);
  return json;
}

}  // namespace weft::models
