#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::models {

/// Hugging Face names of a family with one norm placement.
struct HfNames {
  Family family;
  NormPlacement norm_placement;
  std::string_view model_type;    // in config.json
  std::string_view prefix;        // of the backbone's tensors
  std::string_view class_prefix;  // prefix of the names in `architectures`
};

/// Name of a head in `architectures`. Of several names of one head the first is written; the others
/// are only read.
struct HfHeadName {
  Head head;
  std::string_view class_suffix;
};

const HfNames& hf_names_of(const ModelOptions& options);
std::span<const HfNames> all_hf_names();
/// Returns nullptr where no family has that name.
const HfNames* find_model_type(std::string_view model_type);
std::vector<std::string> known_model_types();

bool has_norm_placement(Family family, NormPlacement place);

/// `BertForMaskedLM`.
std::string architecture_of(const ModelOptions& options);
/// Heads of a family, with their names.
const std::vector<HfHeadName>& heads_of(Family family);
bool has_head(Family family, Head head);

/// Whether transformers has a class that computes the same.
bool is_known_to_transformers(const ModelOptions& options);

/// Values of `model.type`.
const config::Choices<Family>& families();
std::string_view word_of(Family family);

/// Values of `norm.place`.
const config::Choices<NormPlacement>& norm_placements();

/// Names of activations in configs of Weft, and in config.json.
const config::Choices<kernels::Activation>& activations();
std::string_view hf_activation_name(kernels::Activation activation);
const std::vector<std::pair<std::string_view, kernels::Activation>>& hf_activation_names();

}  // namespace weft::models
