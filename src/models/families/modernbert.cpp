#include <cmath>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kWindow = "sliding_attention";
constexpr double kMostTheta = 1e12;

/// Sizes and dropout rates of the published base model.
ModelOptions modernbert_defaults() {
  ModelOptions options;
  options.layers = 22;
  options.width = 1152;
  options.length = 8192;
  options.type_vocab_size = 0;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-5;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.classifier_dropout = 0;
  options.rope = {.theta = 160'000, .local_theta = 10'000};
  options.window = {.size = 128, .global_every = 3};
  options.biases = {.attention = false, .feed_forward = false, .norm = false, .head = false};
  options.is_gated = true;
  options.init_cutoff = 2;
  return options;
}

std::vector<Preset> modernbert_presets() {
  auto large = sized(modernbert_defaults(), {28, 1024, 16});
  large.width = 2624;
  return {{"modernbert-base", modernbert_defaults()}, {"modernbert-large", std::move(large)}};
}

/// `type: full`: no layer has a window.
void resolve_windows(const config::Section& section,
                     const std::string& type,
                     int64_t before,
                     WindowOptions& window) {
  if (type != "window") {
    if (section.has("global_attn_every_n_layers") && window.global_every != 1) {
      section.report("global_attn_every_n_layers",
                     "has no effect with type: full, only with type: window");
    }
    window.global_every = 1;
    window.global_layers.clear();
  } else if (window.global_every != before) {
    window.global_layers.clear();
  }
}

void read_modernbert_window(LayerPartSection& part,
                            ModelOptions& options,
                            const ModelOptions* base) {
  auto& section = part.shared();
  auto& window = options.window;
  const auto before = window.global_every;
  const bool has_windows = before > 1 || !window.global_layers.empty();
  const auto type = read_attention_types(
      part,
      {.family_types = {"full", "window"},
       .default_type = has_windows ? "window" : "full",
       .layers = options.layers,
       .help = "Which tokens a token attends to: all; window: the tokens around it, and in some "
               "layers all; or another attention type."},
      options.layer_types);
  section.read("window", window.size,
               {.help = "Sliding window size in tokens: centred on the token, half on each side.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read(
      "global_attn_every_n_layers", window.global_every,
      {.help =
           "With type: window: every N-th layer, starting with the first, uses global attention.",
       .unit = "layers",
       .range = config::between(1, 1024)});
  resolve_windows(section, type, before, window);
  if (base != nullptr) {
    require_unchanged(section, "window", window.size, base->window.size);
    require_unchanged(section, "global_attn_every_n_layers", window.global_every,
                      base->window.global_every);
    require_unchanged(section, "type", window.global_layers == base->window.global_layers);
  }
}

void read_modernbert_keys(config::Section& section,
                          ModelOptions& options,
                          const ModelOptions* base) {
  enum class Pooled { kFirst, kMean };
  static const config::Choices<Pooled> kWords = {{"cls", Pooled::kFirst}, {"mean", Pooled::kMean}};
  auto pooled = options.uses_mean_pooling ? Pooled::kMean : Pooled::kFirst;
  section.read_choice(
      "classifier_pooling", pooled, kWords,
      {.help = "Token pooling for sequence classification. cls: the first token; mean: the mean "
               "over all tokens (the first token only sees a local window in most layers)."});
  options.uses_mean_pooling = pooled == Pooled::kMean;
  bert_family::read_keys(section, options, base,
                         {.has_sinusoids = true,
                          .has_rotary = true,
                          .has_biases = true,
                          .has_norm_bias = true,
                          .has_local_rotary = true,
                          .has_activation_dropout = true,
                          .half_dims_of_width = 3,
                          .read_window = read_modernbert_window});
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
                str_cat("found ", quoted_text(pooling), ", allowed is cls, mean"));
  }
  options.uses_mean_pooling = pooling == "mean";
}

Json angles(double theta) { return {{"rope_type", "default"}, {"rope_theta", theta}}; }

/// Keys of transformers 4.48 and later.
void read_modernbert_fields(const JsonFields& fields, ModelOptions& options) {
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

void write_modernbert_fields(Json& json, const ModelOptions& options) {
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

constexpr bert_family::WeightNames kModernBertNames = {.word = "embeddings.tok_embeddings",
                                                       .position = {},
                                                       .segment = {},
                                                       .embedding_norm = "embeddings.norm",
                                                       .layers = "layers.",
                                                       .fused_query_key_value = "attn.Wqkv",
                                                       .attention_output = "attn.Wo",
                                                       .up = "mlp.Wi",
                                                       .down = "mlp.Wo",
                                                       .pre_attention_norm = "attn_norm",
                                                       .pre_feed_forward_norm = "mlp_norm",
                                                       .final_norm = "final_norm",
                                                       .mlm_decoder = "decoder",
                                                       .mlm_bias = "decoder.bias",
                                                       .tied_copy = "decoder.weight",
                                                       .dense = "head.dense",
                                                       .norm = "head.norm",
                                                       .span = "classifier"};

ModelOptions absent_modernbert() {
  auto options = modernbert_defaults();
  options.vocabulary = 50368;
  options.pad_id = 50283;
  options.bos_id = 50281;
  options.eos_id = 50282;
  return options;
}

/// Matrices that write to the residual stream start smaller with more layers.
Initializer modernbert_initializer(const std::string& parameter, const ModelOptions& options) {
  auto values = bert_family::initializer(parameter, options);
  if (parameter == "head.output.weight") {
    values.init_std = 1 / std::sqrt(static_cast<double>(options.dim));
  } else if (parameter.ends_with("attention.output.weight") ||
             parameter.ends_with("feed_forward.down.weight") || parameter.starts_with("head.")) {
    values.init_std = options.init_std / std::sqrt(2.0 * static_cast<double>(options.layers));
  }
  return values;
}

}  // namespace

FamilyDefinition modernbert() {
  auto made = bert_family::definition({NormPlacement::kPre, "modernbert", "model", "ModernBert"},
                                      {.has_pooler = false,
                                       .has_segments = false,
                                       .has_classifier_input_dropout = false,
                                       .has_prediction_head = true,
                                       .has_first_norm = false,
                                       .has_sublayer_dropout = false},
                                      kModernBertNames);
  made.defaults = modernbert_defaults;
  made.positions = rotary_positions;
  made.presets = modernbert_presets;
  made.read_keys = read_modernbert_keys;
  bert_family::set_json(made, absent_modernbert,
                        {.activation = "hidden_activation",
                         .dropout = "embedding_dropout",
                         .attention_dropout = "attention_dropout",
                         .epsilon = "norm_eps",
                         .read_more = read_modernbert_fields,
                         .write_more = write_modernbert_fields});
  made.initializer = modernbert_initializer;
  made.style = formats::TokenizerTemplate::kBertNoSegments;
  return made;
}

}  // namespace weft::models
