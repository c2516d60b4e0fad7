#include <string>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/component_json.h"
#include "models/config/layer_type_keys.h"
#include "models/config/stack_keys.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

using config::Section;

constexpr auto kEarlyExitKey = "early_exit";
constexpr auto kWeightsKey = "loss_weights";
constexpr auto kNone = "none";

const config::Choices<bool>& loss_weights() {
  static const config::Choices<bool> kWords = {{"depth", true}, {"equal", false}};
  return kWords;
}

}  // namespace

void read_early_exit(Section& model, ModelOptions& options) {
  auto section = model.section(
      kEarlyExitKey, {.help = "Classifiers after all layers, so that easy texts need fewer of them "
                              "(classification and regression of texts)."});
  auto& own = options.early_exit;
  std::string type = own ? own->rule.type : kNone;
  section.read_name("type", type, type_names(nn::exit_rules(), {kNone}),
                    {.help = "When a text has its answer: if the entropy of the probabilities is "
                             "low (entropy, DeeBERT, arXiv:2004.12993), or if several layers agree "
                             "(patience, PABEE, arXiv:2006.04152). none: no early exits."});
  auto weights_by_depth = own ? own->weights_by_depth : true;
  section.read_choice(kWeightsKey, weights_by_depth, loss_weights(),
                      {.help = "Weights of the classifiers' losses: growing with the depth of the "
                               "layer, or equal."});
  if (section.is_documenting()) {
    nn::document_components(section, "type", nn::exit_rules());
    return;
  }
  if (type == kNone) {
    if (!weights_by_depth) {
      section.fail(kWeightsKey, "has no effect without early_exit.type");
    }
    own.reset();
  } else {
    if (options.layer_types.halting) {
      section.fail("type", "is not possible with halting");
    }
    if (options.layer_types.reversible) {
      section.fail("type", "is not possible with residual.type: reversible");
    }
    if (options.layer_types.mix) {
      section.fail("type", "is not possible with mix");
    }
    if (draws_at_random(options.layer_types)) {
      section.fail("type", "is not possible with attention that draws keys at random");
    }
    if (nn::shortens_sequences(options.layer_types.block)) {
      section.fail("type", "is not possible with layers that shorten the texts");
    }
    if (!own || section.has("type")) {  // else that of init_from
      own = EarlyExitOptions{.rule = nn::read_component(section, nn::exit_rules().at(type))};
    }
    own->weights_by_depth = weights_by_depth;
  }
  section.reject_unread();
}

void replace_exit_rule(const std::string& yaml, const std::string& place, ModelOptions& options) {
  if (yaml.empty()) {
    return;
  }
  if (!options.early_exit) {
    throw UserError(str_cat(place,
                            ": the model has no early exits: it was trained without "
                            "model.early_exit"));
  }
  auto section = config::Document::parse(yaml, place).root();
  const auto names = nn::exit_rules().names();
  auto type = names.front();
  section.read_name("type", type, names, {.help = "The rule.", .is_required = true});
  options.early_exit->rule = nn::read_component(section, nn::exit_rules().at(type));
  section.reject_unread();
}

void read_early_exit(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has(kEarlyExitKey)) {
    return;
  }
  auto json = fields.at(kEarlyExitKey);
  const auto place = str_cat(fields.place(), ": ", kEarlyExitKey);
  EarlyExitOptions own;
  read_choice_word(JsonFields(json, place), kWeightsKey, loss_weights(), own.weights_by_depth);
  json.erase(kWeightsKey);
  own.rule = component_from_json(std::move(json), place, nn::exit_rules());
  options.early_exit = std::move(own);
}

void write_early_exit(formats::Json& json, const ModelOptions& options) {
  if (options.early_exit) {
    auto own = json_of_component(options.early_exit->rule);
    own[kWeightsKey] = choice_word(loss_weights(), options.early_exit->weights_by_depth);
    json[kEarlyExitKey] = std::move(own);
  }
}

}  // namespace weft::models
