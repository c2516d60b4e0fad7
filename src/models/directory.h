#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/safetensors.h"
#include "models/model.h"
#include "models/weights/names.h"

namespace weft::models {

/// Builds the model with its initial weights: a pure function of options and seed.
std::shared_ptr<Model> make_model(const ModelOptions& options, uint64_t seed);

/// MODEL as users name it -> the directory that holds config.json: a checkpoint or Hugging Face
/// directory itself; of a run directory `best`, else `last`. Throws UserError naming what is
/// missing, or what merges an adapter.
std::string model_directory(const std::string& path);

/// config.json -> options. Throws formats::Error naming the file, the key and what is allowed.
ModelOptions read_model_config(const std::string& directory);
/// The same for `weft import`, which may guess the family where an old config.json does not name
/// it.
ModelOptions read_old_model_config(const std::string& directory);

/// Rows of a parameter, and the name in the files of the tensor that they came from.
struct StoredRows {
  StoredTensor tensor;
  std::string name;
};

/// Options and weights of a directory. `head`: the head to put on, when another than the stored one
/// is wanted; its parameters keep their initial values (seed) where the file has none, and `fresh`
/// lists them. `labels` likewise. Throws formats::Error.
struct LoadedModel {
  std::shared_ptr<Model> model;
  std::vector<std::string> fresh;   // parameters that the files do not have
  std::vector<std::string> unused;  // tensors of the files that the model does not have
  std::vector<StoredRows> stored;   // what came from where
};
LoadedModel load_model(const std::string& directory, const ModelOptions& options, uint64_t seed);

/// Writes config.json and model.safetensors under their Hugging Face names, plainly (no atomicity:
/// the directory is renamed whole by the caller). `parameter`: gives the tensor to store for a
/// registered parameter name (the fp32 master in bf16 training).
using ParameterSource = std::function<at::Tensor(const std::string&)>;
void save_model(const std::string& directory,
                const Model& model,
                formats::DType dtype,
                const ParameterSource& parameter = {});

}  // namespace weft::models
