#include "models/config/family.h"

#include <algorithm>
#include <stdexcept>

#include "models/config/family_definition.h"

namespace weft::models {

namespace {

const std::vector<FamilyFacts>& every_family() {
  static const std::vector<FamilyFacts> kAll = [] {
    std::vector<FamilyFacts> all;
    for (const auto* definition : family_table()) {
      all.push_back(definition->facts);
      if (definition->other_facts) {
        all.push_back(*definition->other_facts);
      }
    }
    return all;
  }();
  return kAll;
}

}  // namespace

const FamilyFacts& facts_of(const ModelOptions& options) {
  for (const auto& facts : every_family()) {
    if (facts.family == options.family && facts.norm_place == options.norm_place) {
      return facts;
    }
  }
  throw std::logic_error("a family without facts");
}

std::span<const FamilyFacts> all_facts() { return every_family(); }

const FamilyFacts* find_model_type(std::string_view model_type) {
  const auto& all = every_family();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const auto& facts) { return facts.model_type == model_type; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> result;
  for (const auto& facts : every_family()) {
    result.emplace_back(facts.model_type);
  }
  return result;
}

bool has_norm_place(Family family, NormPlace place) {
  const auto& all = every_family();
  return std::any_of(all.begin(), all.end(), [&](const auto& facts) {
    return facts.family == family && facts.norm_place == place;
  });
}

std::string architecture_of(const ModelOptions& options) {
  for (const auto& facts : heads_of(options.family)) {
    if (facts.head == options.head) {
      return std::string(facts_of(options).classes) + std::string(facts.ending);
    }
  }
  throw std::logic_error("a head without a name");
}

const std::vector<HeadFacts>& heads_of(Family family) { return definition_of(family).heads; }

bool has_head(Family family, Head head) {
  const auto& heads = heads_of(family);
  return std::any_of(heads.begin(), heads.end(),
                     [&](const auto& facts) { return facts.head == head; });
}

bool is_known_to_transformers(const ModelOptions& options) {
  return !facts_of(options).model_type.starts_with("weft-");
}

const config::Choices<Family>& families() {
  static const config::Choices<Family> kWords = [] {
    config::Choices<Family> words;
    for (const auto* definition : family_table()) {
      words.emplace_back(definition->word, definition->facts.family);
    }
    return words;
  }();
  return kWords;
}

std::string_view word_of(Family family) { return definition_of(family).word; }

const config::Choices<NormPlace>& norm_places() {
  static const config::Choices<NormPlace> kWords = {{"post", NormPlace::kPost},
                                                    {"pre", NormPlace::kPre}};
  return kWords;
}

const config::Choices<kernels::Activation>& activations() {
  static const config::Choices<kernels::Activation> kWords = {
      {"gelu", kernels::Activation::kGelu}, {"gelu_tanh", kernels::Activation::kGeluTanh},
      {"relu", kernels::Activation::kRelu}, {"silu", kernels::Activation::kSilu},
      {"tanh", kernels::Activation::kTanh},
  };
  return kWords;
}

const std::vector<std::pair<std::string_view, kernels::Activation>>& stored_activations() {
  // The first name of each is the one that is written.
  static const std::vector<std::pair<std::string_view, kernels::Activation>> kNames = {
      {"gelu", kernels::Activation::kGelu},
      {"gelu_python", kernels::Activation::kGelu},
      {"gelu_new", kernels::Activation::kGeluTanh},
      {"gelu_pytorch_tanh", kernels::Activation::kGeluTanh},
      {"gelu_fast", kernels::Activation::kGeluTanh},
      {"relu", kernels::Activation::kRelu},
      {"silu", kernels::Activation::kSilu},
      {"swish", kernels::Activation::kSilu},
      {"tanh", kernels::Activation::kTanh},
  };
  return kNames;
}

std::string_view stored_activation(kernels::Activation activation) {
  for (const auto& [name, value] : stored_activations()) {
    if (value == activation) {
      return name;
    }
  }
  throw std::logic_error("an activation without a name");
}

}  // namespace weft::models
