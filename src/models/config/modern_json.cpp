#include <algorithm>

#include "base/text.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/stack_json.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kWindow = "sliding_attention";
constexpr double kMostTheta = 1e12;

std::string modern_quote(std::string_view word) {
  return "'" + std::string(word.substr(0, 80)) + "'";
}

/// A list that goes by a rule becomes that rule.
void settle_layers(ModelOptions& options) {
  auto given = std::move(options.modern.full_layers);
  options.modern.full_layers.clear();
  for (int64_t every = 1; every <= options.layers; ++every) {
    options.modern.full_every = every;
    bool fits = true;
    for (int64_t layer = 0; layer < options.layers && fits; ++layer) {
      fits = sees_all(options, layer) == given[static_cast<std::size_t>(layer)];
    }
    if (fits) {
      return;
    }
  }
  options.modern.full_every = modern_defaults().modern.full_every;
  options.modern.full_layers = std::move(given);
}

/// Layer by layer, or once in so many in older files.
void read_layers(const JsonFields& fields, ModelOptions& options) {
  auto& modern = options.modern;
  fields.read("global_attn_every_n_layers", modern.full_every, 1, kMostLayers);
  if (!fields.has("layer_types")) {
    return;
  }
  const auto& list = fields.at("layer_types");
  if (!list.is_array() || static_cast<int64_t>(list.size()) != options.layers) {
    fields.fail("layer_types",
                text("a list with a word for each of the ", options.layers, " layers is expected"));
  }
  for (const auto& word : list) {
    const auto name = word.is_string() ? word.get<std::string>() : std::string();
    if (name != kFull && name != kWindow) {
      fields.fail("layer_types", text("words ", kFull, " or ", kWindow, " are expected"));
    }
    modern.full_layers.push_back(name == kFull);
  }
  settle_layers(options);
}

/// One entry of `rope_parameters`.
void read_angles(const JsonFields& fields, std::string_view layers, double& theta) {
  const auto& all = fields.at("rope_parameters");
  const auto found = all.is_object() ? all.find(layers) : all.end();
  if (!all.is_object() || (found != all.end() && !found->is_object() && !found->is_null())) {
    fields.fail("rope_parameters",
                text("an object for each of ", kFull, " and ", kWindow, " is expected"));
  }
  if (found == all.end() || found->is_null()) {
    return;
  }
  const auto type = found->find("rope_type");
  if (type != found->end() && (!type->is_string() || type->get<std::string>() != "default")) {
    fields.fail("rope_parameters", text(layers, ": allowed is rope_type 'default'"));
  }
  const auto value = found->find("rope_theta");
  if (value == found->end() || value->is_null()) {
    return;
  }
  if (!value->is_number() || value->get<double>() <= 0 || value->get<double>() > kMostTheta) {
    fields.fail("rope_parameters", text(layers, ": a rope_theta above 0 is expected"));
  }
  theta = value->get<double>();
}

void read_positions(const JsonFields& fields, ModernOptions& modern) {
  fields.read("global_rope_theta", modern.theta, 0.0, kMostTheta);
  if (fields.is_null("local_rope_theta")) {
    modern.local_theta = modern.theta;  // none of its own
  }
  fields.read("local_rope_theta", modern.local_theta, 0.0, kMostTheta);
  if (fields.has("rope_parameters")) {
    read_angles(fields, kFull, modern.theta);
    read_angles(fields, kWindow, modern.local_theta);
  }
  for (const auto* key : {"rope_scaling", "partial_rotary_factor"}) {
    if (fields.has(key)) {
      fields.fail(key, "allowed is null: positions are turned as they are");
    }
  }
  if (modern.theta <= 0 || modern.local_theta <= 0) {
    fields.fail("global_rope_theta", "a number above 0 is expected");
  }
}

void read_modern_pooling(const JsonFields& fields, ModernOptions& modern) {
  std::string pooling = "cls";
  fields.read("classifier_pooling", pooling);
  if (pooling != "cls" && pooling != "mean") {
    fields.fail("classifier_pooling",
                text("found ", modern_quote(pooling), ", allowed is cls, mean"));
  }
  modern.pools_mean = pooling == "mean";
}

Json angles(double theta) { return {{"rope_type", "default"}, {"rope_theta", theta}}; }

}  // namespace

void read_modern(const JsonFields& fields, ModelOptions& options) {
  auto& modern = options.modern;
  fields.read("norm_bias", modern.norm_bias);
  fields.read("attention_bias", modern.attention_bias);
  fields.read("mlp_bias", modern.feed_forward_bias);
  fields.read("classifier_bias", modern.head_bias);
  fields.read("decoder_bias", modern.output_bias);
  fields.read("mlp_dropout", modern.feed_forward_dropout, 0.0, 1.0);
  fields.read("initializer_cutoff_factor", modern.cutoff, 0.0, 100.0);
  fields.read("local_attention", modern.window, 1, kMostTokens);
  read_activation(fields, "classifier_activation", modern.head_activation);
  read_modern_pooling(fields, modern);
  read_layers(fields, options);
  read_positions(fields, modern);
  if (options.dim / options.heads % 2 != 0) {
    fields.fail("num_attention_heads", text("heads of an even width are expected, found ",
                                            options.dim, " / ", options.heads));
  }
}

void write_modern(Json& json, const ModelOptions& options) {
  const auto& modern = options.modern;
  json.erase("position_embedding_type");
  json["classifier_dropout"] = classifier_dropout(options);
  json["norm_bias"] = modern.norm_bias;
  json["attention_bias"] = modern.attention_bias;
  json["mlp_bias"] = modern.feed_forward_bias;
  json["classifier_bias"] = modern.head_bias;
  json["decoder_bias"] = modern.output_bias;
  json["mlp_dropout"] = modern.feed_forward_dropout;
  json["initializer_cutoff_factor"] = modern.cutoff;
  json["local_attention"] = modern.window;
  json["classifier_activation"] = stored_activation(modern.head_activation);
  json["classifier_pooling"] = modern.pools_mean ? "mean" : "cls";
  json["layer_types"] = Json::array();
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    json["layer_types"].push_back(sees_all(options, layer) ? kFull : kWindow);
  }
  json["rope_parameters"] = {{kFull, angles(modern.theta)}, {kWindow, angles(modern.local_theta)}};
  json["cls_token_id"] = id_or_null(options.begin_id);
  json["sep_token_id"] = id_or_null(options.end_id);
  // Before transformers 5.
  json["global_rope_theta"] = modern.theta;
  json["local_rope_theta"] = modern.local_theta;
  if (modern.full_layers.empty()) {
    json["global_attn_every_n_layers"] = modern.full_every;
  }
}

}  // namespace weft::models
