#include "base/text.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/stack_json.h"
#include "models/config/traits.h"
#include "models/families/bert_kind.h"

namespace weft::models::bert_kind {

namespace {

using formats::Json;

std::string bert_json_quote(std::string_view word) {
  return "'" + std::string(word.substr(0, 80)) + "'";
}

void read_bert_json_sizes(const JsonFields& fields, ModelOptions& options, const Words& words) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  // Where a family has a word of its own, the common one is known to its config class too.
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size(words.dim, options.dim, kMostFeatures);
  fields.read_size(words.layers, options.layers, kMostLayers);
  fields.read_size(words.heads, options.heads, kMostFeatures);
  fields.read_size(words.width, options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  const auto& traits = traits_of(options.family);
  if (traits.has_segments) {
    fields.read_size("type_vocab_size", options.segments, kMostTokens);
  }
  if (traits.projects_embeddings) {
    fields.read_size("embedding_size", options.embedding_dim, kMostFeatures);
  }
  if (options.dim % options.heads != 0) {
    fields.fail(words.heads, text(options.heads, " does not divide ", words.dim, " ", options.dim));
  }
}

/// Negative ids are none of these families'.
void read_special(const JsonFields& fields, ModelOptions& options) {
  read_id(fields, "pad_token_id", options.pad_id, options.vocabulary, 0);
  if (traits_of(options.family).counts_from_pad && options.pad_id < 0) {
    fields.fail("pad_token_id", "found null, an id is expected: positions are counted from it");
  }
  read_id(fields, "bos_token_id", options.begin_id, options.vocabulary, 0);
  read_id(fields, "eos_token_id", options.end_id, options.vocabulary, 0);
  if (position_offset(options) >= options.length) {
    fields.fail("max_position_embeddings",
                text(options.length, " leaves no position after the pad id ", options.pad_id));
  }
  options.length -= position_offset(options);
}

void read_bert_json_arithmetic(const JsonFields& fields,
                               ModelOptions& options,
                               const Words& words) {
  const auto& traits = traits_of(options.family);
  read_activation(fields, words.activation, options.activation);
  if (!traits.has_fixed_epsilon) {
    fields.read(words.epsilon, options.norm_epsilon, 0.0, 1.0);
  }
  fields.read("initializer_range", options.deviation, 0.0, 100.0);
  fields.read(words.dropout, options.dropout, 0.0, 1.0);
  fields.read(words.attention_dropout, options.attention_dropout, 0.0, 1.0);
  if (traits.has_own_dropouts) {
    fields.read("seq_classif_dropout", options.sequence_dropout, 0.0, 1.0);
    fields.read("qa_dropout", options.span_dropout, 0.0, 1.0);
    fields.read("sinusoidal_pos_embds", options.begins_sinusoidal);
  }
  fields.read("classifier_dropout", options.head_dropout, 0.0, 1.0);
  fields.read("tie_word_embeddings", options.ties_embeddings);
}

/// What the keys would change and this program does not compute.
void refuse_bert_json_foreign(const JsonFields& fields) {
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
                "found " + bert_json_quote(position) + ", allowed is 'absolute'");
  }
}

void write_sizes(Json& json, const ModelOptions& options, const Words& words) {
  const auto& traits = traits_of(options.family);
  json["vocab_size"] = options.vocabulary;
  json[words.dim] = options.dim;
  json[words.layers] = options.layers;
  json[words.heads] = options.heads;
  json[words.width] = options.width;
  json["max_position_embeddings"] = options.length + position_offset(options);
  if (traits.has_segments) {
    json["type_vocab_size"] = options.segments;
  }
  if (traits.projects_embeddings) {
    json["embedding_size"] = embedding_width(options);
  }
}

void write_arithmetic(Json& json, const ModelOptions& options, const Words& words) {
  json[words.activation] = stored_activation(options.activation);
  json[words.dropout] = options.dropout;
  json[words.attention_dropout] = options.attention_dropout;
  json["classifier_dropout"] = options.head_dropout ? Json(*options.head_dropout) : Json(nullptr);
  json["initializer_range"] = options.deviation;
  if (traits_of(options.family).has_own_dropouts) {
    json["seq_classif_dropout"] = options.head_dropout.value_or(options.sequence_dropout);
    json["qa_dropout"] = options.head_dropout.value_or(options.span_dropout);
    json["sinusoidal_pos_embds"] = options.begins_sinusoidal;
    json["tie_weights_"] = options.ties_embeddings;
  } else {
    json[words.epsilon] = options.norm_epsilon;
    json["position_embedding_type"] = "absolute";
  }
}

}  // namespace

void read_json(const JsonFields& fields, ModelOptions& options, const Words& words) {
  read_bert_json_sizes(fields, options, words);
  read_special(fields, options);
  read_bert_json_arithmetic(fields, options, words);
  if (is_modern(options.family)) {
    read_modern(fields, options);
  }
  refuse_bert_json_foreign(fields);
}

void write_json(Json& json, const ModelOptions& options, const Words& words) {
  write_sizes(json, options, words);
  write_arithmetic(json, options, words);
  if (is_modern(options.family)) {
    write_modern(json, options);
  }
  json["tie_word_embeddings"] = options.ties_embeddings;
  write_ids(json, options);
}

}  // namespace weft::models::bert_kind
