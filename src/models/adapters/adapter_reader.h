#pragma once

#include <set>
#include <string>

#include "models/model.h"

namespace weft::models {

/// Whether the directory holds an adapter in PEFT's layout and no model of its own.
bool is_adapter_directory(const std::string& path);

/// The directory of the weights that the adapter stands beside, as the adapter names it; empty
/// where it does not.
std::string adapter_base(const std::string& path);

/// The base's options with the head that the adapter was trained for, and as many classes as its
/// own head has (their names are the base's where the count is the same).
ModelOptions adapter_options(const std::string& path, const ModelOptions& base);

/// Adds the adapter's products to the model's matrices and puts in the modules that it brings
/// whole. -> the parameters that it brought whole. Throws formats::Error for tensors that the model
/// has no place for, and for kinds of adapters other than LoRA (DoRA, patterns of ranks, biases).
std::set<std::string> apply_adapter(const std::string& path, Model& model);

}  // namespace weft::models
