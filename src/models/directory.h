#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/safetensors.h"
#include "models/model.h"
#include "models/weights/weight_map.h"

namespace weft::models {

/// Builds the model with its initial weights: a pure function of options and seed.
std::shared_ptr<Model> make_model(const ModelOptions& options, uint64_t seed);

/// Builds the model with undefined weights. Its memory is not touched, so that even a model that
/// does not fit can be asked for its parameters.
std::shared_ptr<Model> make_uninitialized_model(const ModelOptions& options);

/// Resolves a user's MODEL to the directory that contains config.json: a checkpoint or Hugging Face
/// directory itself; for a run directory `best`, else `last`. Throws UserError naming what is
/// missing, or the command that downloads the model or merges an adapter.
std::string model_directory(const std::string& path);

/// Whether the path does not exist and could be the name of a model of the Hugging Face Hub, such
/// as `bert-base-uncased` or `google/vit-base-patch16-224`.
bool is_hub_name(std::string_view path);
/// For such a name, `; ...` with the command that downloads it to a directory of this name; else
/// "".
std::string download_hint(std::string_view path);

/// Reads config.json. Throws formats::Error naming the file, the key and what is allowed.
ModelOptions read_model_config(const std::string& directory);
/// The same for `weft import`, which may guess the family where an old config.json does not name
/// it.
ModelOptions read_legacy_model_config(const std::string& directory);

/// Rows of a parameter, and the name of the tensor in the files that they were read from.
struct LoadedTensor {
  StoredTensor tensor;
  std::string name;
};

/// A model loaded from a directory with the head and labels of `options`. Parameters without stored
/// weights keep their initial values (seed) and are in `missing_keys`, and so do `new_parts`, whose
/// stored weights are ignored: a head for other classes. Throws formats::Error.
struct LoadedModel {
  std::shared_ptr<Model> model;
  std::vector<std::string> missing_keys;     // parameters that the files do not have
  std::vector<std::string> unexpected_keys;  // tensors of the files that the model does not have
  std::vector<LoadedTensor> loaded_tensors;  // where each tensor came from
};
/// Called for each module of a model as soon as its own parameters have their stored weights, with
/// its registered name; not for modules without parameters or with missing ones.
using LoadedModule = std::function<void(Model&, const std::string&, torch::nn::Module&)>;

/// `on_module` may convert the module: then the model is never in memory as it is stored. It is not
/// called for a vision model that is loaded with another image size.
LoadedModel load_model(const std::string& directory,
                       const ModelOptions& options,
                       uint64_t seed,
                       const std::set<Part>& new_parts = {},
                       const LoadedModule& on_module = {});

/// Generation settings of a model directory, of models that generate.
inline constexpr auto kGenerationConfig = "generation_config.json";

/// The text of that file; empty without one. Throws FileError.
std::string read_generation_text(const std::string& directory);

/// Writes config.json and model.safetensors (and kSeparateTensors) under their Hugging Face names,
/// not atomically: the caller renames the whole directory. `parameter`: returns the tensor to store
/// for a registered parameter name (the fp32 master in bf16 training).
/// A generation_config.json that is there already keeps its other settings.
using ParameterSource = std::function<at::Tensor(const std::string&)>;
void save_model(const std::string& directory,
                const Model& model,
                formats::DType dtype,
                const ParameterSource& parameter = {});

}  // namespace weft::models
