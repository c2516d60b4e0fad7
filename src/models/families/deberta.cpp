#include <algorithm>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"

namespace weft::models {

namespace {

using kernels::Activation;

constexpr int64_t kMostDistanceBuckets = 1 << 16;

/// Version 3 of the published models (arXiv:2111.09543).
ModelOptions deberta_defaults() {
  ModelOptions options;
  options.type_vocab_size = 0;
  options.norm_epsilon = 1e-7;
  options.has_position_embeddings = false;
  options.disentangled = nn::DisentangledOptions();
  return options;
}

std::vector<Preset> deberta_presets() {
  const auto begin = deberta_defaults();
  return {{"deberta-v3-mini", sized(begin, {4, 256, 4})},
          {"deberta-v3-xsmall", sized(begin, {12, 384, 6})},
          {"deberta-v3-small", sized(begin, {6, 768, 12})},
          {"deberta-v3-base", sized(begin, {12, 768, 12})},
          {"deberta-v3-large", sized(begin, {24, 1024, 16})}};
}

/// Values of absent config.json keys.
ModelOptions absent_deberta() {
  auto options = deberta_defaults();
  options.vocabulary = 128100;
  options.dim = 1536;
  options.layers = 24;
  options.heads = 24;
  options.width = 6144;
  options.has_position_embeddings = true;
  options.disentangled.reset();
  return options;
}

nn::PositionChoice disentangled_choice(const ModelOptions& options) {
  auto own = *options.disentangled;
  own.norm_epsilon = options.norm_epsilon;
  own.scores.dropout = options.dropout;
  return {.type = "disentangled", .keys = "{}", .make = nn::disentangled_position(own)};
}

std::vector<nn::PositionChoice> deberta_positions(const ModelOptions& options) {
  std::vector<nn::PositionChoice> positions;
  if (options.disentangled) {
    positions.push_back(disentangled_choice(options));
  }
  if (options.has_position_embeddings) {
    positions.push_back(learned_positions(options).front());
  }
  return positions.empty() ? std::vector{nn::PositionChoice{
                                 .type = "none",
                                 .keys = "{}",
                                 .make = nn::default_component(nn::position_types(), "none").make}}
                           : positions;
}

void read_deberta_position(config::Section& section,
                           ModelOptions& options,
                           const ModelOptions* base) {
  if (options.disentangled) {
    options.disentangled = nn::read_disentangled_options(section, *options.disentangled);
  }
  section.read("absolute", options.has_position_embeddings,
               {.help = "Learned position embeddings in addition."});
  if (base != nullptr) {
    require_unchanged(section, "buckets", options.disentangled == base->disentangled);
    require_unchanged(section, "absolute",
                      options.has_position_embeddings == base->has_position_embeddings);
  }
}

/// A list of words or one text, "c2p|p2c".
std::vector<std::string> position_terms(const JsonFields& fields) {
  std::vector<std::string> terms;
  if (!fields.has("pos_att_type") || fields.at("pos_att_type").is_null()) {
    return terms;
  }
  const auto& given = fields.at("pos_att_type");
  if (given.is_string()) {
    for (const auto term : split(given.get<std::string>(), '|')) {
      terms.emplace_back(trim(term));
    }
  } else if (given.is_array()) {
    for (const auto& term : given) {
      terms.push_back(term.is_string() ? term.get<std::string>() : term.dump().substr(0, 80));
    }
  } else {
    fields.fail("pos_att_type", "must be a list of 'c2p' and 'p2c'");
  }
  std::erase(terms, "");
  for (const auto& term : terms) {
    if (term != "c2p" && term != "p2c") {
      fields.fail("pos_att_type",
                  str_cat("found '", term.substr(0, 80), "', allowed are 'c2p' and 'p2c'"));
    }
  }
  return terms;
}

/// Rejects what changes the computation and is not supported.
void refuse_deberta_json(const JsonFields& fields) {
  const auto refuse = [&](const char* key, int64_t allowed) {
    int64_t value = allowed;
    fields.read(key, value, int64_t{0}, int64_t{1} << 30);
    if (value != allowed) {
      fields.fail(key, str_cat("found ", value, ", must be ", allowed));
    }
  };
  refuse("type_vocab_size", 0);
  refuse("conv_kernel_size", 0);
  std::string activation = "gelu";
  fields.read("pooler_hidden_act", activation);
  if (activation != "gelu") {
    fields.fail("pooler_hidden_act",
                str_cat("found '", activation.substr(0, 80), "', must be 'gelu'"));
  }
  double dropout = 0;
  fields.read("pooler_dropout", dropout, 0.0, 1.0);
  if (dropout != 0) {
    fields.fail("pooler_dropout", str_cat("found ", dropout, ", must be 0"));
  }
}

void read_deberta_json(const JsonFields& fields, ModelOptions& options) {
  refuse_deberta_json(fields);
  fields.read("cls_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("position_biased_input", options.has_position_embeddings);
  bool is_relative = false;
  fields.read("relative_attention", is_relative);
  const auto terms = position_terms(fields);
  if (!is_relative || terms.empty()) {
    if (is_relative != !terms.empty()) {
      fields.fail("pos_att_type", "must be given with relative_attention, and only then");
    }
    options.disentangled.reset();
    return;
  }
  nn::DisentangledOptions own;
  const auto has = [&](const char* term) { return std::ranges::count(terms, term) > 0; };
  own.scores = {.content_to_position = has("c2p"),
                .position_to_content = has("p2c"),
                .shares_projections = false};
  fields.read("share_att_key", own.scores.shares_projections);
  own.buckets = -1;
  fields.read("position_buckets", own.buckets, int64_t{-1}, kMostDistanceBuckets);
  own.buckets = std::max<int64_t>(own.buckets, 0);
  own.max_distance = -1;
  fields.read("max_relative_positions", own.max_distance, int64_t{-1}, kMostTokens);
  own.max_distance = own.max_distance < 1 ? options.length : own.max_distance;
  std::string norm = "none";
  fields.read("norm_rel_ebd", norm);
  own.has_norm = norm.find("layer_norm") != std::string::npos;
  if (own.buckets > 0 && own.max_distance <= own.buckets / 2 + 1) {
    fields.fail("position_buckets", str_cat(own.buckets, " must be less than twice the ",
                                            own.max_distance, " relative positions"));
  }
  options.disentangled = own;
}

void write_deberta_json(formats::Json& json, const ModelOptions& options) {
  json["type_vocab_size"] = 0;
  json["position_biased_input"] = options.has_position_embeddings;
  json["relative_attention"] = options.disentangled.has_value();
  json["pooler_hidden_size"] = options.dim;
  json["pooler_hidden_act"] = "gelu";
  json["pooler_dropout"] = 0;
  json["cls_dropout"] = json["classifier_dropout"];
  json["legacy"] = true;
  if (!options.disentangled) {
    return;
  }
  const auto& own = *options.disentangled;
  auto terms = formats::Json::array();
  if (own.scores.position_to_content) {
    terms.push_back("p2c");
  }
  if (own.scores.content_to_position) {
    terms.push_back("c2p");
  }
  json["pos_att_type"] = std::move(terms);
  json["share_att_key"] = own.scores.shares_projections;
  json["position_buckets"] = own.buckets > 0 ? own.buckets : -1;
  json["max_relative_positions"] = own.max_distance;
  json["norm_rel_ebd"] = own.has_norm ? "layer_norm" : "none";
}

}  // namespace

FamilyDefinition deberta() {
  auto made = bert_family::definition(
      {NormPlacement::kPost, "deberta-v2", "deberta", "DebertaV2"},
      {.has_pooler = false,
       .has_segments = false,
       .classifier_activation = Activation::kGelu,
       .has_classifier_input_dropout = false},
      {.segment = {},
       .distances = "encoder.rel_embeddings",
       .distance_norm = "encoder.LayerNorm",
       .query_key_value = {"attention.self.query_proj", "attention.self.key_proj",
                           "attention.self.value_proj"},
       .distance_key = "attention.self.pos_key_proj",
       .distance_query = "attention.self.pos_query_proj",
       .bias_copy = "cls.predictions.decoder.bias",
       .tied_copy = "cls.predictions.decoder.",
       .sequence_dense = "pooler.dense",
       .replaced_dense = "discriminator_predictions.dense",
       .replaced = "discriminator_predictions.dense_prediction"});
  made.heads.push_back({Head::kReplacedToken, "ForPreTraining"});
  made.defaults = deberta_defaults;
  made.presets = deberta_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(section, options, base,
                           {.pooling = "cls", .read_position = read_deberta_position});
  };
  bert_family::set_json(made, absent_deberta,
                        {.read_more = read_deberta_json, .write_more = write_deberta_json});
  made.positions = deberta_positions;
  made.style = formats::TokenizerTemplate::kBertNoSegments;
  return made;
}

}  // namespace weft::models
