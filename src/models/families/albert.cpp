#include "base/string_util.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using kernels::Activation;

/// Version 2 of the published models, which has no dropout.
ModelOptions albert_defaults() {
  ModelOptions options;
  options.activation = Activation::kGeluTanh;
  options.embedding_size = 128;
  options.layer_groups = 1;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.classifier_dropout = 0.1;
  return options;
}

/// arXiv:1909.11942, table 1.
std::vector<Preset> albert_presets() {
  const auto begin = albert_defaults();
  return {{"albert-mini", sized(begin, {4, 256, 4})},
          {"albert-base", sized(begin, {12, 768, 12})},
          {"albert-large", sized(begin, {24, 1024, 16})},
          {"albert-xlarge", sized(begin, {24, 2048, 16})},
          {"albert-xxlarge", sized(begin, {12, 4096, 64})}};
}

/// Values of absent config.json keys.
ModelOptions absent_albert() {
  auto options = albert_defaults();
  options.vocabulary = 30000;
  options.dim = 4096;
  options.heads = 64;
  options.width = 16384;
  options.bos_id = 2;
  options.eos_id = 3;
  return options;
}

void read_albert_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  bert_family::read_keys(section, options, base);
  section.read("layer_groups", options.layer_groups,
               {.help = "Groups of consecutive layers that share their parameters (albert).",
                .unit = "groups",
                .range = config::between(1, 4096)});
  if (options.layer_groups > options.layers) {
    section.report("layer_groups", str_cat("found ", options.layer_groups,
                                           ", at most layers: ", options.layers, " is allowed"));
  }
  const auto& types = options.layer_types;
  if (options.layer_groups < options.layers &&
      (types.attention.cycle.size() > 1 || !types.attention.ranges.empty())) {
    section.report("attention", "layers that share their parameters cannot have different types");
  }
  if (embedding_width(options) == options.dim) {
    section.report("embedding_size", "must differ from dim for albert");
  }
  if (base != nullptr) {
    require_unchanged(section, "layer_groups", options.layer_groups == base->layer_groups);
  }
}

void read_albert_json(const JsonFields& fields, ModelOptions& options) {
  fields.read_size("num_hidden_groups", options.layer_groups, options.layers);
  int64_t inner = 1;
  fields.read_size("inner_group_num", inner, 1);
  fields.read("classifier_dropout_prob", options.classifier_dropout, 0.0, 1.0);
  if (embedding_width(options) == options.dim) {
    fields.fail("embedding_size", str_cat(options.dim, " is hidden_size, must differ from it"));
  }
}

void write_albert_json(formats::Json& json, const ModelOptions& options) {
  json["num_hidden_groups"] = distinct_layers(options);
  json["inner_group_num"] = 1;
  json["classifier_dropout_prob"] = options.classifier_dropout.value_or(options.dropout);
}

}  // namespace

FamilyDefinition albert() {
  auto made = bert_family::definition(
      {NormPlacement::kPost, "albert", "albert", "Albert"},
      {.classifier_uses_pooler = true,
       .has_embedding_projection = true,
       .has_feed_forward_dropout = false},
      {.projection = "encoder.embedding_hidden_mapping_in",
       .layers = "encoder.albert_layer_groups.",
       .layer_end = ".albert_layers.0.",
       .query_key_value = {"attention.query", "attention.key", "attention.value"},
       .attention_output = "attention.dense",
       .up = "ffn",
       .down = "ffn_output",
       .attention_norm = "attention.LayerNorm",
       .feed_forward_norm = "full_layer_layer_norm",
       .pooler = "pooler",
       .mlm_dense = "predictions.dense",
       .mlm_norm = "predictions.LayerNorm",
       .mlm_decoder = "predictions.decoder",
       .mlm_bias = "predictions.bias",
       .bias_copy = "predictions.decoder.bias",
       .tied_copy = "predictions.decoder."});
  made.defaults = albert_defaults;
  made.presets = albert_presets;
  made.read_keys = read_albert_keys;
  bert_family::set_json(made, absent_albert,
                        {.read_more = read_albert_json, .write_more = write_albert_json});
  return made;
}

}  // namespace weft::models
