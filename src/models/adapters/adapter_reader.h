#pragma once

#include <set>
#include <string>

#include "models/model.h"

namespace weft::models {

/// Whether the directory contains an adapter in PEFT's layout and no config.json of a full model.
bool is_adapter_directory(const std::string& path);

/// Directory of the base weights, as named by the adapter; empty where it names none.
std::string adapter_base(const std::string& path);

/// Options of the base, with the head that the adapter was trained for and as many classes as that
/// head has (class names are the base's where the count is the same).
ModelOptions adapter_options(const std::string& path, const ModelOptions& base);

/// Adds the low-rank products to the model and loads the modules that the adapter stores in full.
/// Returns the parameters loaded in full. Throws formats::Error for tensors without a counterpart
/// in the model, and for DoRA, alpha patterns and biases.
std::set<std::string> apply_adapter(const std::string& path, Model& model);

}  // namespace weft::models
