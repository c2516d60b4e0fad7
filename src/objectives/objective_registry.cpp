#include "objectives/objective_registry.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "config/reference.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

Registry<ObjectiveDefinition>& registered_objectives() {
  static Registry<ObjectiveDefinition> table(
      "objective",
      {
          {"mlm", "masked tokens: masked language modelling", read_masked_lm},
          {"classify", "classes of texts or images", read_classify},
          {"regress", "a number for a text: regression", read_regress},
          {"tag",
           "labels of words: token classification, such as named entities or parts of speech; with "
           "model.document of sentences, such as an extractive summary",
           read_tag},
          {"seq2seq", "a target text for a source text, such as its translation", read_seq2seq},
          {"causal", "the next token: causal language modelling", read_causal_lm},
          {"bidirectional_lm",
           "the next token, and from right to left the token before: bidirectional language "
           "modelling, ELMo",
           read_bidirectional_lm},
          {"prefix_lm",
           "the rest of a text, or the target of a pair, after a prefix with bidirectional "
           "attention",
           read_prefix_lm},
          {"span_corruption", "the spans removed by T5's span corruption", read_span_corruption},
          {"denoise", "the original of a text with BART's noise", read_denoise},
          {"translation_lm", "masked tokens of parallel text pairs: translation language modelling",
           read_translation_lm},
          {"distill", "the predictions of a teacher: knowledge distillation", read_distill},
          {"masked_sentence",
           "the tokens of masked sentences of a document, with model.document: HIBERT",
           read_masked_sentence},
          {"masked_image", "pixels of masked patches: masked image modelling", read_masked_image},
          {"replaced_token",
           "which tokens a small generator replaced: replaced token detection, ELECTRA",
           read_replaced_token},
      });
  return table;
}

/// The keys of one type, with paths relative to `objective:`.
config::Declarations keys_of(const ObjectiveDefinition& definition) {
  return config::collect_declarations([&](config::Section section) { definition.read(section); });
}

/// The keys of all types; each names the types that have it.
config::Declarations keys_of_all_types() {
  std::vector<config::TypeDeclarations> types;
  for (const auto& definition : objective_definitions()) {
    types.push_back({definition.name, keys_of(definition)});
  }
  return config::merge_types(types);
}

/// The types that have the key.
std::vector<std::string> types_with(std::string_view key) {
  std::vector<std::string> types;
  for (const auto& definition : objective_definitions()) {
    if (keys_of(definition).find(key) != nullptr) {
      types.emplace_back(definition.name);
    }
  }
  return types;
}

void refuse_foreign_keys(const config::Section& section, const ObjectiveDefinition& chosen) {
  const auto own = keys_of(chosen);
  std::set<std::string> refused;  // keys of other types; of a section not those below it
  for (const auto& definition : objective_definitions()) {
    for (const auto& key : keys_of(definition).keys) {
      const auto parent = key.path.substr(0, key.path.find('.'));
      if (section.has(key.path) && own.find(key.path) == nullptr && !refused.contains(parent) &&
          refused.insert(key.path).second) {
        section.report(key.path, str_cat("belongs to objectives of type ",
                                         join_alternatives(types_with(key.path)), ", this one is ",
                                         chosen.name));
      }
    }
  }
}

const ObjectiveDefinition& read_type(config::Section& section) {
  config::Choices<const ObjectiveDefinition*> choices;
  std::vector<std::string> descriptions;
  for (const auto& definition : objective_definitions()) {
    choices.emplace_back(definition.name, &definition);
    descriptions.push_back(str_cat(definition.name, " (", definition.help, ")"));
  }
  const auto* chosen = choices.front().second;
  section.read_choice(
      "type", chosen, choices,
      {.help = str_cat("What the model learns to predict: ", join(descriptions), "."),
       .is_required = true});
  return *chosen;
}

/// Why the objective cannot train the model; without the allowed types.
std::optional<Incompatibility> own_incompatibility(const Objective& objective,
                                                   const models::ModelOptions& model) {
  auto wrong = objective.incompatibility(model);
  if (!wrong && models::capabilities_of(model.family).is_counted &&
      !objective.traits(model).supports_counting) {
    wrong = cannot_train(objective.name(), model, "counts tokens in their context");
  }
  if (!wrong && model.document && !objective.traits(model).reads_sentences) {
    wrong = cannot_train(objective.name(), model,
                         "reads documents sentence by sentence (model.document)");
  }
  if (!wrong && models::draws_at_random(model.layer_types) &&
      !objective.traits(model).sets_sequence_losses) {
    wrong = cannot_train(objective.name(), model,
                         "has attention that draws keys at random and learns from the loss of each "
                         "whole text");
  }
  return wrong;
}

/// The types whose objective, with default options, has nothing against the model's type.
std::vector<std::string> types_for(const models::ModelOptions& model) {
  std::vector<std::string> types;
  for (const auto& definition : objective_definitions()) {
    const auto wrong = own_incompatibility(*make_default_objective(definition), model);
    if (!wrong || wrong->key != "type") {
      types.emplace_back(definition.name);
    }
  }
  return types;
}

}  // namespace

const std::deque<ObjectiveDefinition>& objective_definitions() {
  return registered_objectives().all();
}

void register_objective(const ObjectiveDefinition& definition) {
  registered_objectives().add(definition);
}

std::unique_ptr<Objective> make_default_objective(const ObjectiveDefinition& definition) {
  auto section = config::Section::for_documentation();
  return definition.read(section);
}

std::unique_ptr<Objective> read_objective(config::Section& section) {
  const auto& definition = read_type(section);
  if (section.is_documenting()) {
    section.declare(keys_of_all_types());
    return make_default_objective(definition);
  }
  refuse_foreign_keys(section, definition);
  auto objective = definition.read(section);
  section.reject_unread();
  return objective;
}

std::optional<Incompatibility> find_incompatibility(const Objective& objective,
                                                    const models::ModelOptions& model) {
  auto wrong = own_incompatibility(objective, model);
  if (wrong && wrong->key == "type") {
    wrong->message += "; " + allowed_are(types_for(model));
  }
  return wrong;
}

}  // namespace weft::objectives
