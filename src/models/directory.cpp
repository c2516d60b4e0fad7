#include "models/directory.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "models/adapters/adapter_reader.h"
#include "models/config/config_json.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/vision.h"
#include "models/weights/initialize.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_map.h"
#include "models/weights/weights.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

constexpr auto kDirectoryConfig = "config.json";
constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;
constexpr int64_t kMaxGenerationBytes = int64_t{1} << 20;

/// Parts that may be missing in the directory: those of a head or a set of classes other than the
/// stored one.
std::set<Part> optional_parts(const ModelOptions& wanted, const ModelOptions& stored) {
  std::set<Part> parts;
  if (wanted.head != stored.head) {
    return {Part::kPooler, Part::kHead};
  }
  if (head_outputs(wanted) != head_outputs(stored) || (wanted.early_exit && !stored.early_exit)) {
    return {Part::kHead};
  }
  if (head_of(wanted).is_bare) {
    parts.insert(Part::kPooler);  // saved with add_pooling_layer=False
  }
  return parts;
}

/// Calls `on_module` for each module whose own parameters are complete.
class ModuleProgress {
 public:
  ModuleProgress(Model& model, const WeightAssignment& assignment, const LoadedModule& on_module)
      : model_(model), modules_(model.named_modules()), on_module_(on_module) {
    for (const auto& pair : assignment.pairs) {
      ++missing_tensors_[module_of(pair.wanted.parameter)];
    }
    for (const auto& parameter : assignment.missing_keys) {
      missing_tensors_.erase(module_of(parameter));
    }
  }

  /// Before the first tensor of a parameter gives it memory that the module before has released.
  void before(const std::string& name, const at::Tensor& parameter) {
    if (begun_.insert(name).second) {
      parameter.set_data(at::empty_like(parameter));
    }
  }

  /// After each tensor of a parameter.
  void after(const std::string& parameter) {
    const auto found = missing_tensors_.find(module_of(parameter));
    if (found != missing_tensors_.end() && --found->second == 0) {
      on_module_(model_, found->first, *modules_[found->first]);
    }
  }

 private:
  Model& model_;
  torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>> modules_;
  const LoadedModule& on_module_;
  std::map<std::string, int64_t> missing_tensors_;  // by module
  std::set<std::string> begun_;                     // parameters
};

void copy_weights(Model& model,
                  const SafetensorsShards& files,
                  const WeightAssignment& assignment,
                  const LoadedModule& on_module) {
  const at::NoGradGuard guard;
  const auto parameters = model.named_parameters();
  const auto buffers = model.named_buffers();
  std::optional<ModuleProgress> progress;
  if (on_module) {
    progress.emplace(model, assignment, on_module);
  }
  for (const auto& [wanted, name] : assignment.pairs) {
    const auto& stored = *files.find(name);
    const auto& whole = (wanted.dtype ? buffers : parameters)[wanted.parameter];
    if (progress) {
      progress->before(wanted.parameter, whole);
    }
    auto rows = rows_of(whole, wanted);
    rows.copy_(from_file_layout(tensor_of(stored), wanted).reshape(rows.sizes()));
    release_pages(stored.bytes);
    if (progress) {
      progress->after(wanted.parameter);
    }
  }
}

void write_config(const std::string& directory, const ModelOptions& options, formats::DType dtype) {
  FileWriter file(directory + "/" + kDirectoryConfig, FileWriter::Mode::kPlain);
  file.write(json_from_options(options, dtype)
                 .dump(2, ' ', false, formats::Json::error_handler_t::replace) +
             "\n");
  file.commit();
}

/// Sets options that some families infer from the weights instead of config.json.
ModelOptions with_inferred_options(ModelOptions options, const std::string& directory) {
  const auto& look = options.family->infer_from_weights;
  if (look != nullptr && SafetensorsShards::exist_in(directory)) {
    look(options, SafetensorsShards(directory));
  }
  return options;
}

/// Sets the values of `own`, the ids of the model. The first of several end tokens is the model's.
void update_generation(const formats::Json& own, formats::Json& json) {
  for (const auto& [key, value] : own.items()) {
    const auto found = json.find(key);
    const bool is_first_of_list =
        found != json.end() && found->is_array() && !found->empty() && found->front() == value;
    if (!is_first_of_list) {
      json[key] = value;
    }
  }
}

/// Writes generation_config.json for models that generate; keeps other settings of one that is
/// there.
void write_generation(const std::string& directory, const ModelOptions& options) {
  const auto path = directory + "/" + kGenerationConfig;
  const auto& say = options.family->generation_json;
  const auto own = say == nullptr ? formats::Json() : say(options);
  if (!own.is_null()) {
    auto json =
        fs::exists(path) ? formats::read_json(path, kMaxGenerationBytes) : formats::Json::object();
    update_generation(own, json);
    FileWriter file(path, FileWriter::Mode::kPlain);
    file.write(json.dump(2) + "\n");
    file.commit();
  }
}

}  // namespace

std::string read_generation_text(const std::string& directory) {
  const auto path = directory + "/" + kGenerationConfig;
  return fs::exists(path) ? read_file(path) : "";
}

std::shared_ptr<Model> make_uninitialized_model(const ModelOptions& options) {
  return options.family->make(options);
}

std::shared_ptr<Model> make_model(const ModelOptions& options, uint64_t seed) {
  auto model = make_uninitialized_model(options);
  initialize(*model, seed);
  return model;
}

bool is_hub_name(std::string_view path) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  std::error_code ignored;
  const bool is_config = path.ends_with(".yaml") || path.ends_with(".yml");
  return !path.empty() && !is_config && !path.starts_with('.') && !path.starts_with('/') &&
         !path.ends_with('/') && std::ranges::count(path, '/') <= 1 &&
         path.find_first_not_of(kAllowed) == std::string_view::npos && !fs::exists(path, ignored);
}

std::string download_hint(std::string_view path) {
  return is_hub_name(path)
             ? str_cat("; a model of the Hugging Face Hub is downloaded with `hf download ", path,
                       " --local-dir ", path, "`")
             : "";
}

std::string model_directory(const std::string& path) {
  std::error_code ignored;
  if (is_adapter_directory(path)) {
    throw UserError(str_cat(path, ": a LoRA adapter, not a complete model: `weft import ", path,
                            " --output DIR` merges it into its base model"));
  }
  for (const auto& place : {fs::path(path), fs::path(path) / "best", fs::path(path) / "last"}) {
    if (fs::exists(place / kDirectoryConfig, ignored)) {
      return place.string();
    }
  }
  if (!fs::exists(path, ignored)) {
    throw UserError(path + ": model not found: the directory does not exist" + download_hint(path));
  }
  throw UserError(path + ": not a model: neither " + kDirectoryConfig +
                  " nor a run's `best` or `last` exists");
}

ModelOptions read_model_config(const std::string& directory) {
  const auto path = directory + "/" + kDirectoryConfig;
  const auto json = formats::read_json(path, kMaxConfigBytes);
  if (json.is_object() && !json.contains("model_type")) {
    throw formats::Error(
        str_cat(path, ": model_type: missing, must be the model's family; `weft import ", directory,
                " --output DIR` infers it and writes a current directory"));
  }
  return with_inferred_options(options_from_json(with_inferred_head(json, directory), path),
                               directory);
}

ModelOptions read_legacy_model_config(const std::string& directory) {
  const auto path = directory + "/" + kDirectoryConfig;
  return with_inferred_options(
      options_from_json(
          with_inferred_family_and_head(formats::read_json(path, kMaxConfigBytes), directory),
          path),
      directory);
}

LoadedModel load_model(const std::string& directory,
                       const ModelOptions& options,
                       uint64_t seed,
                       const std::set<Part>& new_parts,
                       const LoadedModule& on_module) {
  if (reads_images(options)) {
    const auto stored = read_model_config(directory).vision.image_size;
    if (stored != options.vision.image_size) {
      auto small = options;
      small.vision.image_size = stored;
      auto loaded = load_model(directory, small, seed, new_parts);
      loaded.model = at_image_size(*loaded.model, options.vision.image_size);
      return loaded;
    }
  }
  const SafetensorsShards files(directory);
  const auto assignment = assign_weights(
      files, options, optional_parts(options, read_legacy_model_config(directory)), new_parts);
  LoadedModel result;
  result.model = options.family->make(options);
  copy_weights(*result.model, files, assignment, on_module);
  try {
    result.model->finish_loading();
  } catch (const UserError& error) {
    throw formats::Error(str_cat(directory, ": ", error.what()));
  }
  if (!assignment.missing_keys.empty()) {
    initialize(*result.model, seed, assignment.missing_keys);
  }
  result.missing_keys.assign(assignment.missing_keys.begin(), assignment.missing_keys.end());
  result.unexpected_keys = assignment.unexpected_keys;
  for (const auto& [wanted, name] : assignment.pairs) {
    result.loaded_tensors.push_back({wanted, name});
  }
  return result;
}

void save_model(const std::string& directory,
                const Model& model,
                formats::DType dtype,
                const ParameterSource& parameter) {
  const at::NoGradGuard guard;
  const auto parameters = model.named_parameters();
  const auto buffers = model.named_buffers();
  at::Tensor kept;  // the one that is being written
  std::vector<formats::NamedTensor> tensors;
  std::vector<formats::NamedTensor> separate;
  const auto map = weight_map(model.options());
  const auto value_of = [&](const std::string& name) {
    return parameter ? parameter(name) : parameters[name];
  };
  for (const auto& stored : map) {
    const auto type = stored.dtype.value_or(dtype);
    const auto read = [&, type] {
      auto whole = stored.dtype ? buffers[stored.parameter] : value_of(stored.parameter);
      if (const auto base = model.base_of(stored.parameter); !base.empty()) {
        whole = whole + value_of(base);
      }
      kept = to_dtype(to_file_layout(rows_of(whole, stored), stored), type);
      return view_of(kept).bytes;
    };
    const formats::TensorView view{.dtype = type, .shape = stored.shape, .bytes = {}};
    (stored.is_separate ? separate : tensors).push_back({stored.name, view, read});
    if (!stored.duplicate_name.empty()) {
      tensors.push_back({stored.duplicate_name, view, read});
    }
  }
  formats::write_safetensors(directory + "/model.safetensors", tensors, {{"format", "pt"}},
                             FileWriter::Mode::kPlain);
  if (!separate.empty()) {
    formats::write_safetensors(directory + "/" + kSeparateTensors, separate, {{"format", "pt"}},
                               FileWriter::Mode::kPlain);
  }
  write_config(directory, model.options(), dtype);
  write_generation(directory, model.options());
}

}  // namespace weft::models
