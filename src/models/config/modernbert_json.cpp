#include <algorithm>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/hf_config_fields.h"
#include "models/config/modernbert.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kWindow = "sliding_attention";
constexpr double kMostTheta = 1e12;

std::string modern_quote(std::string_view word) {
  return "'" + std::string(word.substr(0, 80)) + "'";
}

/// Replaces a list that follows a rule by that rule.
void infer_layer_rule(ModelOptions& options) {
  auto given = std::move(options.window.global_layers);
  options.window.global_layers.clear();
  for (int64_t every = 1; every <= options.layers; ++every) {
    options.window.global_every = every;
    bool fits = true;
    for (int64_t layer = 0; layer < options.layers && fits; ++layer) {
      fits = is_global_attention_layer(options, layer) == given[static_cast<std::size_t>(layer)];
    }
    if (fits) {
      return;
    }
  }
  options.window.global_every = modernbert_defaults().window.global_every;
  options.window.global_layers = std::move(given);
}

/// Reads one entry per layer, or one period for all in older files.
void read_layers(const JsonFields& fields, ModelOptions& options) {
  fields.read("global_attn_every_n_layers", options.window.global_every, 1, kMostLayers);
  if (!fields.has("layer_types")) {
    return;
  }
  const auto& list = fields.at("layer_types");
  if (!list.is_array() || static_cast<int64_t>(list.size()) != options.layers) {
    fields.fail("layer_types", str_cat("must be a list with one entry for each of the ",
                                       options.layers, " layers"));
  }
  for (const auto& word : list) {
    const auto name = word.is_string() ? word.get<std::string>() : std::string();
    if (name != kFull && name != kWindow) {
      fields.fail("layer_types", str_cat("entries must be ", kFull, " or ", kWindow));
    }
    options.window.global_layers.push_back(name == kFull);
  }
  infer_layer_rule(options);
}

/// One entry of `rope_parameters`.
void read_angles(const JsonFields& fields, std::string_view layers, double& theta) {
  const auto& all = fields.at("rope_parameters");
  const auto found = all.is_object() ? all.find(layers) : all.end();
  if (!all.is_object() || (found != all.end() && !found->is_object() && !found->is_null())) {
    fields.fail("rope_parameters",
                str_cat("must be an object for each of ", kFull, " and ", kWindow));
  }
  if (found == all.end() || found->is_null()) {
    return;
  }
  const auto type = found->find("rope_type");
  if (type != found->end() && (!type->is_string() || type->get<std::string>() != "default")) {
    fields.fail("rope_parameters", str_cat(layers, ": allowed is rope_type 'default'"));
  }
  const auto value = found->find("rope_theta");
  if (value == found->end() || value->is_null()) {
    return;
  }
  if (!value->is_number() || value->get<double>() <= 0 || value->get<double>() > kMostTheta) {
    fields.fail("rope_parameters", str_cat(layers, ": must have a rope_theta above 0"));
  }
  theta = value->get<double>();
}

void read_positions(const JsonFields& fields, ModelOptions& options) {
  fields.read("global_rope_theta", options.rope.theta, 0.0, kMostTheta);
  if (fields.is_null("local_rope_theta")) {
    options.rope.local_theta = options.rope.theta;  // no separate value
  }
  fields.read("local_rope_theta", options.rope.local_theta, 0.0, kMostTheta);
  if (fields.has("rope_parameters")) {
    read_angles(fields, kFull, options.rope.theta);
    read_angles(fields, kWindow, options.rope.local_theta);
  }
  for (const auto* key : {"rope_scaling", "partial_rotary_factor"}) {
    if (fields.has(key)) {
      fields.fail(key, "allowed is null: position scaling is not supported");
    }
  }
  if (options.rope.theta <= 0 || options.rope.local_theta <= 0) {
    fields.fail("global_rope_theta", "must be a number above 0");
  }
}

void read_modern_pooling(const JsonFields& fields, ModelOptions& options) {
  std::string pooling = "cls";
  fields.read("classifier_pooling", pooling);
  if (pooling != "cls" && pooling != "mean") {
    fields.fail("classifier_pooling",
                str_cat("found ", modern_quote(pooling), ", allowed is cls, mean"));
  }
  options.uses_mean_pooling = pooling == "mean";
}

Json angles(double theta) { return {{"rope_type", "default"}, {"rope_theta", theta}}; }

}  // namespace

void read_modernbert(const JsonFields& fields, ModelOptions& options) {
  fields.read("norm_bias", options.biases.norm);
  fields.read("attention_bias", options.biases.attention);
  fields.read("mlp_bias", options.biases.feed_forward);
  fields.read("classifier_bias", options.biases.head);
  fields.read("decoder_bias", options.biases.mlm_output);
  fields.read("mlp_dropout", options.activation_dropout, 0.0, 1.0);
  fields.read("initializer_cutoff_factor", options.init_cutoff, 0.0, 100.0);
  fields.read("local_attention", options.window.size, 1, kMostTokens);
  read_activation(fields, "classifier_activation", options.head_activation);
  read_modern_pooling(fields, options);
  read_layers(fields, options);
  read_positions(fields, options);
  if (options.dim / options.heads % 2 != 0) {
    fields.fail("num_attention_heads",
                str_cat("the head size must be even, found ", options.dim, " / ", options.heads));
  }
}

void write_modernbert(Json& json, const ModelOptions& options) {
  json.erase("position_embedding_type");
  json["classifier_dropout"] = classifier_dropout(options);
  json["norm_bias"] = options.biases.norm;
  json["attention_bias"] = options.biases.attention;
  json["mlp_bias"] = options.biases.feed_forward;
  json["classifier_bias"] = options.biases.head;
  json["decoder_bias"] = options.biases.mlm_output;
  json["mlp_dropout"] = options.activation_dropout;
  json["initializer_cutoff_factor"] = options.init_cutoff;
  json["local_attention"] = options.window.size;
  json["classifier_activation"] = hf_activation_name(options.head_activation);
  json["classifier_pooling"] = options.uses_mean_pooling ? "mean" : "cls";
  json["layer_types"] = Json::array();
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    json["layer_types"].push_back(is_global_attention_layer(options, layer) ? kFull : kWindow);
  }
  json["rope_parameters"] = {{kFull, angles(options.rope.theta)},
                             {kWindow, angles(options.rope.local_theta)}};
  json["cls_token_id"] = id_or_null(options.bos_id);
  json["sep_token_id"] = id_or_null(options.eos_id);
  // Before transformers 5.
  json["global_rope_theta"] = options.rope.theta;
  json["local_rope_theta"] = options.rope.local_theta;
  if (options.window.global_layers.empty()) {
    json["global_attn_every_n_layers"] = options.window.global_every;
  }
}

}  // namespace weft::models
