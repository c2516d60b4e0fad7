#include "models/families/deberta_kind.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"

namespace weft::models::deberta_family {

namespace {

nn::PositionChoice disentangled_choice(const ModelOptions& options) {
  auto own = *options.disentangled;
  own.norm_epsilon = options.norm_epsilon;
  own.scores.dropout = options.dropout;
  return {.type = "disentangled", .keys = "{}", .make = nn::disentangled_position(own)};
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
      terms.push_back(term.is_string() ? term.get<std::string>() : printable(term.dump()));
    }
  } else {
    fields.fail("pos_att_type", "must be a list of 'c2p' and 'p2c'");
  }
  std::erase(terms, "");
  for (const auto& term : terms) {
    if (term != "c2p" && term != "p2c") {
      fields.fail("pos_att_type",
                  str_cat("found ", quoted_text(term), ", allowed are 'c2p' and 'p2c'"));
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
  std::string activation = "gelu";
  fields.read("pooler_hidden_act", activation);
  if (activation != "gelu") {
    fields.fail("pooler_hidden_act",
                str_cat("found ", quoted_text(activation), ", must be 'gelu'"));
  }
  double dropout = 0;
  fields.read("pooler_dropout", dropout, 0.0, 1.0);
  if (dropout != 0) {
    fields.fail("pooler_dropout", str_cat("found ", dropout, ", must be 0"));
  }
}

/// The scores of contents and distances; nullopt: none.
std::optional<nn::DisentangledOptions> distances_in(const JsonFields& fields, int64_t length) {
  bool is_relative = false;
  fields.read("relative_attention", is_relative);
  const auto terms = position_terms(fields);
  if (!is_relative || terms.empty()) {
    if (is_relative != !terms.empty()) {
      fields.fail("pos_att_type", "must be given with relative_attention, and only then");
    }
    return {};
  }
  const auto has = [&](const char* term) { return std::ranges::count(terms, term) > 0; };
  nn::DisentangledOptions own{.scores = {.content_to_position = has("c2p"),
                                         .position_to_content = has("p2c"),
                                         .shares_projections = false},
                              .buckets = 0,
                              .max_distance = -1,
                              .has_norm = false};
  fields.read("max_relative_positions", own.max_distance, int64_t{-1}, kMostTokens);
  own.max_distance = own.max_distance < 1 ? length : own.max_distance;
  return own;
}

}  // namespace

std::vector<nn::PositionChoice> positions(const ModelOptions& options) {
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

void read_position(config::Section& section, ModelOptions& options, const ModelOptions* base) {
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

void read_json(const JsonFields& fields, ModelOptions& options) {
  refuse_deberta_json(fields);
  fields.read("cls_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("position_biased_input", options.has_position_embeddings);
  options.disentangled = distances_in(fields, options.length);
}

void write_json(formats::Json& json, const ModelOptions& options) {
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
  json["max_relative_positions"] = own.max_distance;
}

}  // namespace weft::models::deberta_family
