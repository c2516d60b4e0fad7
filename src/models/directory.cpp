#include "models/directory.h"

#include <filesystem>
#include <set>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "formats/json.h"
#include "models/adapters/adapter_reader.h"
#include "models/config/config_json.h"
#include "models/config/deduce.h"
#include "models/config/family_definition.h"
#include "models/vision.h"
#include "models/weights/initialize.h"
#include "models/weights/names.h"
#include "models/weights/stored_layout.h"
#include "models/weights/tensors.h"
#include "models/weights/weights.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

constexpr auto kDirectoryConfig = "config.json";
constexpr int64_t kLongestConfig = int64_t{16} << 20;

/// Which parts the directory need not have: what belongs to another head than the stored one, or to
/// another set of classes.
std::set<Part> exchangeable(const ModelOptions& wanted, const ModelOptions& stored) {
  std::set<Part> parts;
  if (wanted.head != stored.head) {
    return {Part::kPooler, Part::kHead};
  }
  if (head_outputs(wanted) != head_outputs(stored)) {
    return {Part::kHead};
  }
  if (wanted.head == Head::kNone) {
    parts.insert(Part::kPooler);  // saved with add_pooling_layer=False
  }
  return parts;
}

void copy_weights(const Model& model, const WeightFiles& files, const Assignment& assignment) {
  const at::NoGradGuard guard;
  const auto parameters = model.named_parameters();
  for (const auto& [wanted, name] : assignment.pairs) {
    auto rows = rows_of(parameters[wanted.parameter], wanted);
    rows.copy_(from_stored(tensor_of(*files.find(name)), wanted).reshape(rows.sizes()));
  }
}

void write_config(const std::string& directory, const ModelOptions& options, formats::DType dtype) {
  FileWriter file(directory + "/" + kDirectoryConfig, FileWriter::Mode::kPlain);
  file.write(json_from_options(options, dtype)
                 .dump(2, ' ', false, formats::Json::error_handler_t::replace) +
             "\n");
  file.commit();
}

/// What config.json does not say of some families, the weights beside it do.
ModelOptions looked_at(ModelOptions options, const std::string& directory) {
  const auto look = definition_of(options.family).look_at_files;
  if (look != nullptr && WeightFiles::are_in(directory)) {
    look(options, WeightFiles(directory));
  }
  return options;
}

/// How a model that generates goes about it, for those that open the directory.
void write_generation(const std::string& directory, const ModelOptions& options) {
  const auto say = definition_of(options.family).generation_json;
  const auto json = say == nullptr ? formats::Json() : say(options);
  if (!json.is_null()) {
    FileWriter file(directory + "/generation_config.json", FileWriter::Mode::kPlain);
    file.write(json.dump(2) + "\n");
    file.commit();
  }
}

}  // namespace

std::shared_ptr<Model> make_model(const ModelOptions& options, uint64_t seed) {
  auto model = definition_of(options.family).make(options);
  initialize(*model, seed);
  return model;
}

std::string model_directory(const std::string& path) {
  std::error_code ignored;
  if (is_adapter_directory(path)) {
    throw UserError(text(path, ": an adapter, not a model of its own: `weft import ", path,
                         " --output DIR` merges it into its base and writes a model"));
  }
  for (const auto& place : {fs::path(path), fs::path(path) / "best", fs::path(path) / "last"}) {
    if (fs::exists(place / kDirectoryConfig, ignored)) {
      return place.string();
    }
  }
  if (!fs::exists(path, ignored)) {
    throw UserError(path + ": no such model: the directory does not exist");
  }
  throw UserError(path + ": no model: neither " + kDirectoryConfig +
                  " nor a run's `best` or `last` is there");
}

ModelOptions read_model_config(const std::string& directory) {
  const auto path = directory + "/" + kDirectoryConfig;
  const auto json = formats::read_json(path, kLongestConfig);
  if (json.is_object() && !json.contains("model_type")) {
    throw formats::Error(
        text(path, ": model_type: found nothing, must name the model's family; `weft import ",
             directory, " --output DIR` finds it out and writes a current directory"));
  }
  return looked_at(options_from_json(with_head(json, directory), path), directory);
}

ModelOptions read_old_model_config(const std::string& directory) {
  const auto path = directory + "/" + kDirectoryConfig;
  return looked_at(
      options_from_json(with_family_and_head(formats::read_json(path, kLongestConfig), directory),
                        path),
      directory);
}

LoadedModel load_model(const std::string& directory, const ModelOptions& options, uint64_t seed) {
  if (reads_images(options)) {
    const auto stored = read_model_config(directory).vision.image_size;
    if (stored != options.vision.image_size) {
      auto small = options;
      small.vision.image_size = stored;
      auto loaded = load_model(directory, small, seed);
      loaded.model = at_image_size(*loaded.model, options.vision.image_size);
      return loaded;
    }
  }
  const WeightFiles files(directory);
  const auto assignment =
      assign(files, options, exchangeable(options, read_old_model_config(directory)));
  LoadedModel result;
  result.model = definition_of(options.family).make(options);
  copy_weights(*result.model, files, assignment);
  if (!assignment.fresh.empty()) {
    initialize(*result.model, seed, assignment.fresh);
  }
  result.fresh.assign(assignment.fresh.begin(), assignment.fresh.end());
  result.unused = assignment.unused;
  for (const auto& [wanted, name] : assignment.pairs) {
    result.stored.push_back({wanted, name});
  }
  return result;
}

void save_model(const std::string& directory,
                const Model& model,
                formats::DType dtype,
                const ParameterSource& parameter) {
  const at::NoGradGuard guard;
  const auto parameters = model.named_parameters();
  std::vector<at::Tensor> kept;  // what the views below look at
  std::vector<formats::NamedTensor> tensors;
  for (const auto& stored : stored_tensors(model.options())) {
    const auto whole = parameter ? parameter(stored.parameter) : parameters[stored.parameter];
    kept.push_back(converted(to_stored(rows_of(whole, stored), stored), dtype));
    tensors.push_back({stored.name, view_of(kept.back())});
    if (!stored.copy.empty()) {
      tensors.push_back({stored.copy, view_of(kept.back())});
    }
  }
  formats::write_safetensors(directory + "/model.safetensors", tensors, {{"format", "pt"}},
                             FileWriter::Mode::kPlain);
  write_config(directory, model.options(), dtype);
  write_generation(directory, model.options());
}

}  // namespace weft::models
