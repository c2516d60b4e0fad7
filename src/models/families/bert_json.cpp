#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/hf_config_fields.h"
#include "models/families/bert_kind.h"

namespace weft::models::bert_family {

namespace {

using formats::Json;

void read_bert_json_sizes(const JsonFields& fields, ModelOptions& options, const JsonKeys& keys) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  // The config classes with family-specific names accept the common names too.
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size(keys.dim, options.dim, kMostFeatures);
  fields.read_size(keys.layers, options.layers, kMostLayers);
  fields.read_size(keys.heads, options.heads, kMostFeatures);
  fields.read_size(keys.width, options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  const auto& capabilities = capabilities_of(options.family);
  if (capabilities.has_segments) {
    fields.read_size("type_vocab_size", options.type_vocab_size, kMostTokens);
  }
  if (capabilities.has_embedding_projection) {
    fields.read_size("embedding_size", options.embedding_size, kMostFeatures);
  }
  if (options.dim % options.heads != 0) {
    fields.fail(keys.heads,
                str_cat(options.heads, " does not divide ", keys.dim, " ", options.dim));
  }
}

/// Reads special ids; these families have no negative ids.
void read_special(const JsonFields& fields, ModelOptions& options) {
  read_id(fields, "pad_token_id", options.pad_id, options.vocabulary, 0);
  if (capabilities_of(options.family).positions_start_after_pad_id && options.pad_id < 0) {
    fields.fail("pad_token_id", "found null, must be an id: position ids start after it");
  }
  read_id(fields, "bos_token_id", options.bos_id, options.vocabulary, 0);
  read_id(fields, "eos_token_id", options.eos_id, options.vocabulary, 0);
  if (position_offset(options) >= options.length) {
    fields.fail("max_position_embeddings",
                str_cat(options.length, " leaves no position after the pad id ", options.pad_id));
  }
  options.length -= position_offset(options);
}

void read_bert_json_arithmetic(const JsonFields& fields,
                               ModelOptions& options,
                               const JsonKeys& keys) {
  const auto& capabilities = capabilities_of(options.family);
  read_activation(fields, keys.activation, options.activation);
  if (!capabilities.has_fixed_epsilon) {
    fields.read(keys.epsilon, options.norm_epsilon, 0.0, 1.0);
  }
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read(keys.dropout, options.dropout, 0.0, 1.0);
  fields.read(keys.attention_dropout, options.attention_dropout, 0.0, 1.0);
  if (capabilities.has_separate_head_dropouts) {
    fields.read("seq_classif_dropout", options.sequence_dropout, 0.0, 1.0);
    fields.read("qa_dropout", options.span_dropout, 0.0, 1.0);
    fields.read("sinusoidal_pos_embds", options.has_sinusoidal_positions);
  }
  fields.read("classifier_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
}

/// Rejects keys that change the computation and are not supported.
void refuse_bert_json_foreign(const JsonFields& fields) {
  for (const auto* key : {"is_decoder", "add_cross_attention"}) {
    bool is_on = false;
    fields.read(key, is_on);
    if (is_on) {
      fields.fail(key, "found true, must be false: this family is an encoder");
    }
  }
  std::string position = "absolute";
  fields.read("position_embedding_type", position);
  if (position != "absolute") {
    fields.fail("position_embedding_type",
                "found " + quoted_text(position) + ", allowed is 'absolute'");
  }
}

void write_sizes(Json& json, const ModelOptions& options, const JsonKeys& keys) {
  const auto& capabilities = capabilities_of(options.family);
  json["vocab_size"] = options.vocabulary;
  json[keys.dim] = options.dim;
  json[keys.layers] = options.layers;
  json[keys.heads] = options.heads;
  json[keys.width] = options.width;
  json["max_position_embeddings"] = options.length + position_offset(options);
  if (capabilities.has_segments) {
    json["type_vocab_size"] = options.type_vocab_size;
  }
  if (capabilities.has_embedding_projection) {
    json["embedding_size"] = embedding_width(options);
  }
}

void write_arithmetic(Json& json, const ModelOptions& options, const JsonKeys& keys) {
  json[keys.activation] = hf_activation_name(options.activation);
  json[keys.dropout] = options.dropout;
  json[keys.attention_dropout] = options.attention_dropout;
  json["classifier_dropout"] =
      options.classifier_dropout ? Json(*options.classifier_dropout) : Json(nullptr);
  json["initializer_range"] = options.init_std;
  if (capabilities_of(options.family).has_separate_head_dropouts) {
    json["seq_classif_dropout"] = options.classifier_dropout.value_or(options.sequence_dropout);
    json["qa_dropout"] = options.classifier_dropout.value_or(options.span_dropout);
    json["sinusoidal_pos_embds"] = options.has_sinusoidal_positions;
    json["tie_weights_"] = options.tie_word_embeddings;
  } else {
    json[keys.epsilon] = options.norm_epsilon;
    json["position_embedding_type"] = "absolute";
  }
}

}  // namespace

void read_json(const JsonFields& fields, ModelOptions& options, const JsonKeys& keys) {
  read_bert_json_sizes(fields, options, keys);
  read_special(fields, options);
  read_bert_json_arithmetic(fields, options, keys);
  if (keys.read_more != nullptr) {
    keys.read_more(fields, options);
  }
  refuse_bert_json_foreign(fields);
}

void write_json(Json& json, const ModelOptions& options, const JsonKeys& keys) {
  write_sizes(json, options, keys);
  write_arithmetic(json, options, keys);
  if (keys.write_more != nullptr) {
    keys.write_more(json, options);
  }
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

}  // namespace weft::models::bert_family
