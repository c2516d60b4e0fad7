#include "models/config/family.h"

#include <algorithm>
#include <stdexcept>

#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "nn/position/position_types.h"

namespace weft::models {

std::vector<nn::PositionChoice> learned_positions(const ModelOptions& /*options*/) {
  return {{.type = "learned", .keys = "{}", .make = nn::make_learned_position}};
}

std::vector<nn::PositionChoice> sinusoidal_positions(const ModelOptions& /*options*/) {
  return {{.type = "sinusoidal",
           .keys = "{}",
           .make = nn::sinusoidal_position({.is_interleaved = false})}};
}

std::vector<nn::PositionChoice> rotary_positions(const ModelOptions& options) {
  return {{.type = "rotary", .keys = "{}", .make = nn::rotary_position(options.rope)}};
}

std::string_view word_of(Family family) { return family->name; }

const FamilyCapabilities& capabilities_of(Family family) { return family->capabilities; }

ModelOptions layerless_defaults() {
  ModelOptions options;
  options.layers = 1;
  options.heads = 1;
  options.dim = 1;
  options.width = 1;
  options.type_vocab_size = 0;
  options.length = int64_t{1} << 20;  // no tensor depends on it
  options.dropout = 0;
  options.attention_dropout = 0;
  options.pad_id = -1;
  return options;
}

ModelOptions family_defaults(Family family) {
  auto options = family->defaults();
  options.family = family;
  return options;
}

const std::vector<HfHeadName>& heads_of(Family family) { return family->heads; }

bool has_head(Family family, Head head) {
  return std::ranges::find(family->heads, head, &HfHeadName::head) != family->heads.end();
}

Head bare_head(const ModelOptions& options) {
  const auto& head = head_of(options);
  const bool has_no_decoder = head.classifies_sequences || head.reads_last_block;
  return has_no_decoder && has_head(options.family, Head::kBase) ? Head::kBase : Head::kNone;
}

bool has_norm_placement(Family family, NormPlacement place) {
  return std::ranges::find(family->hf_names, place, &HfNames::norm_placement) !=
         family->hf_names.end();
}

const HfNames& hf_names_of(const ModelOptions& options) {
  const auto& names = options.family->hf_names;
  const auto found = std::ranges::find(names, options.norm_placement, &HfNames::norm_placement);
  if (found == names.end()) {
    throw std::logic_error("a family without names for its norm placement");
  }
  return *found;
}

std::vector<std::pair<Family, HfNames>> all_hf_names() {
  std::vector<std::pair<Family, HfNames>> result;
  for (const auto& [name, family] : families()) {
    for (const auto& hf_names : family->hf_names) {
      result.emplace_back(family, hf_names);
    }
  }
  return result;
}

std::string architecture_of(const ModelOptions& options) {
  const auto& heads = options.family->heads;
  const auto found = std::ranges::find(heads, options.head, &HfHeadName::head);
  if (found == heads.end()) {
    throw std::logic_error("a head without a name");
  }
  return str_cat(hf_names_of(options).class_prefix, found->class_suffix);
}

bool is_known_to_transformers(const ModelOptions& options) {
  return !has_own_parts(options) && !hf_names_of(options).model_type.starts_with("weft-");
}

bool generates(const ModelOptions& options) { return head_of(options).generates; }

bool is_encoder_decoder(const ModelOptions& options) { return options.family->is_encoder_decoder; }

bool reads_images(const ModelOptions& options) { return options.family->reads_images; }

bool is_baseline(Family family) { return family->is_baseline; }

const config::Choices<NormPlacement>& norm_placements() {
  static const config::Choices<NormPlacement> kWords = {{"post", NormPlacement::kPost},
                                                        {"pre", NormPlacement::kPre},
                                                        {"sandwich", NormPlacement::kSandwich},
                                                        {"none", NormPlacement::kNone}};
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
