#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::models {

/// What the outside world calls a family whose norms stand in one place.
struct FamilyFacts {
  Family family;
  NormPlace norm_place;
  std::string_view model_type;  // in config.json
  std::string_view prefix;      // of the backbone's tensors
  std::string_view classes;     // begin of the names in `architectures`
};

/// How a head is called in `architectures`. Of several names of one head the first is written, the
/// others are read.
struct HeadFacts {
  Head head;
  std::string_view ending;
};

const FamilyFacts& facts_of(const ModelOptions& options);
std::span<const FamilyFacts> all_facts();
/// Nothing where no family bears that name.
const FamilyFacts* find_model_type(std::string_view model_type);
std::vector<std::string> known_model_types();

bool has_norm_place(Family family, NormPlace place);

/// `BertForMaskedLM`.
std::string architecture_of(const ModelOptions& options);
/// The heads that a family has, with their names.
const std::vector<HeadFacts>& heads_of(Family family);
bool has_head(Family family, Head head);

/// Whether transformers has a class that computes the same.
bool is_known_to_transformers(const ModelOptions& options);

/// Words of `model.type`.
const config::Choices<Family>& families();
std::string_view word_of(Family family);

/// Words of `norm.place`.
const config::Choices<NormPlace>& norm_places();

/// Names of activations in configs of Weft, and in config.json.
const config::Choices<kernels::Activation>& activations();
std::string_view stored_activation(kernels::Activation activation);
const std::vector<std::pair<std::string_view, kernels::Activation>>& stored_activations();

}  // namespace weft::models
