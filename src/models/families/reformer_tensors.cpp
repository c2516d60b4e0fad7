#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/families/reformer_kind.h"
#include "models/reformer.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models::reformer_family {

namespace {

void add_reformer_layer(WeightMapBuilder& builder,
                        const ModelOptions& options,
                        const std::string& prefix,
                        int64_t layer) {
  const auto dim = options.dim;
  const auto inner = options.heads * head_dim(options);
  const auto parameter = str_cat("layers.", layer, ".");
  const auto hf_name = str_cat(prefix, "encoder.layers.", layer, ".");
  const auto attention = hf_name + "attention.self_attention.";
  builder.norm(parameter + "attention_norm", hf_name + "attention.layer_norm", dim);
  if (is_hashed_layer(options, layer)) {
    builder.linear(parameter + "attention.query_key", attention + "query_key", {dim, inner, false});
    builder.linear(parameter + "attention.value", attention + "value", {dim, inner, false});
  } else {
    int64_t first = 0;
    for (const auto* name : {"query", "key", "value"}) {
      builder.linear(parameter + "attention.qkv", attention + name, {dim, inner, false, first});
      first += inner;
    }
  }
  builder.linear(parameter + "attention.output", hf_name + "attention.output.dense",
                 {inner, dim, false});
  builder.norm(parameter + "feed_forward_norm", hf_name + "feed_forward.layer_norm", dim);
  builder.linear(parameter + "feed_forward.up", hf_name + "feed_forward.dense.dense",
                 {dim, options.width});
  builder.linear(parameter + "feed_forward.down", hf_name + "feed_forward.output.dense",
                 {options.width, dim});
}

void add_reformer_positions(WeightMapBuilder& builder,
                            const ModelOptions& options,
                            const std::string& prefix) {
  const auto& own = options.reformer;
  const auto name = prefix + "embeddings.position_embeddings.";
  if (own.axial_shape.empty()) {
    builder.table("embeddings.position", name + "embedding", {options.length, options.dim});
    return;
  }
  builder.result.push_back({.parameter = "embeddings.position.weights_0",
                            .name = name + "weights.0",
                            .shape = {own.axial_shape[0], 1, own.axial_dims[0]}});
  builder.result.push_back({.parameter = "embeddings.position.weights_1",
                            .name = name + "weights.1",
                            .shape = {1, own.axial_shape[1], own.axial_dims[1]}});
}

}  // namespace

std::vector<StoredTensor> tensors(const ModelOptions& options) {
  const auto& head = head_of(options);
  const std::string prefix = head.is_bare ? "" : "reformer.";
  const auto states = states_dim(options);
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embeddings.word_embeddings",
                {options.vocabulary, options.dim});
  add_reformer_positions(builder, options, prefix);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_reformer_layer(builder, options, prefix, layer);
  }
  builder.norm("layers.norm", prefix + "encoder.layer_norm", states);
  if (head.predicts_tokens && has_output_matrix(options.layer_types)) {
    builder.table("head.decoder", "lm_head.decoder", {options.vocabulary, states}, Part::kHead);
    // transformers stores two biases: since 5.24 it adds this one, never the other one.
    builder.result.push_back({.parameter = "head.bias",
                              .name = "lm_head.decoder.bias",
                              .shape = {options.vocabulary},
                              .part = Part::kHead,
                              .duplicate_name = "lm_head.bias",
                              .is_optional = true});
  } else if (head.classifies_sequences) {
    builder.linear("head.dense", "classifier.dense",
                   {.inputs = states, .outputs = options.dim, .part = Part::kHead});
    builder.linear("head.output", "classifier.out_proj",
                   {.inputs = options.dim, .outputs = head_outputs(options), .part = Part::kHead});
  } else if (head.predicts_spans) {
    builder.linear("head.output", "qa_outputs",
                   {.inputs = states, .outputs = head_outputs(options), .part = Part::kHead});
  }
  return builder.result;
}

}  // namespace weft::models::reformer_family
