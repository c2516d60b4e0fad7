#include "models/config/family.h"

#include <algorithm>
#include <stdexcept>

#include "models/config/family_definition.h"

namespace weft::models {

namespace {

const std::vector<HfNames>& every_family() {
  static const std::vector<HfNames> kFamilies = [] {
    std::vector<HfNames> all;
    for (const auto* definition : family_table()) {
      all.push_back(definition->hf_names);
      if (definition->other_hf_names) {
        all.push_back(*definition->other_hf_names);
      }
    }
    return all;
  }();
  return kFamilies;
}

}  // namespace

const HfNames& hf_names_of(const ModelOptions& options) {
  for (const auto& hf_names : every_family()) {
    if (hf_names.family == options.family && hf_names.norm_placement == options.norm_placement) {
      return hf_names;
    }
  }
  throw std::logic_error("a family without facts");
}

std::span<const HfNames> all_hf_names() { return every_family(); }

const HfNames* find_model_type(std::string_view model_type) {
  const auto& all = every_family();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& hf_names) {
    return hf_names.model_type == model_type;
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> result;
  for (const auto& hf_names : every_family()) {
    result.emplace_back(hf_names.model_type);
  }
  return result;
}

bool has_norm_placement(Family family, NormPlacement place) {
  const auto& all = every_family();
  return std::any_of(all.begin(), all.end(), [&](const auto& hf_names) {
    return hf_names.family == family && hf_names.norm_placement == place;
  });
}

std::string architecture_of(const ModelOptions& options) {
  for (const auto& head_name : heads_of(options.family)) {
    if (head_name.head == options.head) {
      return std::string(hf_names_of(options).class_prefix) + std::string(head_name.class_suffix);
    }
  }
  throw std::logic_error("a head without a name");
}

const std::vector<HfHeadName>& heads_of(Family family) { return definition_of(family).heads; }

bool has_head(Family family, Head head) {
  const auto& heads = heads_of(family);
  return std::any_of(heads.begin(), heads.end(),
                     [&](const auto& head_name) { return head_name.head == head; });
}

bool is_known_to_transformers(const ModelOptions& options) {
  return options.layer_types.empty() && !hf_names_of(options).model_type.starts_with("weft-");
}

const config::Choices<Family>& families() {
  static const config::Choices<Family> kWords = [] {
    config::Choices<Family> words;
    for (const auto* definition : family_table()) {
      words.emplace_back(definition->name, definition->hf_names.family);
    }
    return words;
  }();
  return kWords;
}

std::string_view word_of(Family family) { return definition_of(family).name; }

const config::Choices<NormPlacement>& norm_placements() {
  static const config::Choices<NormPlacement> kWords = {{"post", NormPlacement::kPost},
                                                        {"pre", NormPlacement::kPre}};
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

const std::vector<std::pair<std::string_view, kernels::Activation>>& hf_activation_names() {
  // The first name of each activation is the one that is written.
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

std::string_view hf_activation_name(kernels::Activation activation) {
  for (const auto& [name, value] : hf_activation_names()) {
    if (value == activation) {
      return name;
    }
  }
  throw std::logic_error("an activation without a name");
}

}  // namespace weft::models
