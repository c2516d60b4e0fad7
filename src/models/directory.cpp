#include "models/directory.h"

#include <filesystem>
#include <set>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "formats/json.h"
#include "models/adapter_reader.h"
#include "models/bag_of_words.h"
#include "models/config_json.h"
#include "models/decomposable_attention.h"
#include "models/deduce.h"
#include "models/encoder.h"
#include "models/initialize.h"
#include "models/names.h"
#include "models/tensors.h"
#include "models/weights.h"

namespace weft::models {

namespace {

namespace fs = std::filesystem;

constexpr auto kConfig = "config.json";
constexpr int64_t kLongestConfig = int64_t{16} << 20;

/// The table of families: which class computes which. One line a kind.
std::shared_ptr<Model> build(const ModelOptions& options) {
  switch (options.family) {
    case Family::kBert:
    case Family::kRoberta:
    case Family::kXlmRoberta:
    case Family::kDistilBert:
    case Family::kElectra:
    case Family::kModernBert:
      return std::make_shared<Encoder>(options);
    case Family::kBagOfWords:
      return std::make_shared<BagOfWords>(options);
    case Family::kDecomposableAttention:
      return std::make_shared<DecomposableAttention>(options);
  }
  TORCH_CHECK(false, "no such family");
}

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
    auto rows = parameters[wanted.parameter].narrow(0, wanted.first_row, wanted.shape[0]);
    rows.copy_(tensor_of(*files.find(name)));
  }
}

void write_config(const std::string& directory, const ModelOptions& options, formats::DType dtype) {
  FileWriter file(directory + "/" + kConfig, FileWriter::Mode::kPlain);
  file.write(json_from_options(options, dtype)
                 .dump(2, ' ', false, formats::Json::error_handler_t::replace) +
             "\n");
  file.commit();
}

}  // namespace

std::shared_ptr<Model> make_model(const ModelOptions& options, uint64_t seed) {
  auto model = build(options);
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
    if (fs::exists(place / kConfig, ignored)) {
      return place.string();
    }
  }
  if (!fs::exists(path, ignored)) {
    throw UserError(path + ": no such model: the directory does not exist");
  }
  throw UserError(path + ": no model: neither " + kConfig +
                  " nor a run's `best` or `last` is there");
}

ModelOptions read_model_config(const std::string& directory) {
  const auto path = directory + "/" + kConfig;
  return options_from_json(completed_config(formats::read_json(path, kLongestConfig), directory),
                           path);
}

LoadedModel load_model(const std::string& directory, const ModelOptions& options, uint64_t seed) {
  const WeightFiles files(directory);
  const auto assignment =
      assign(files, options, exchangeable(options, read_model_config(directory)));
  LoadedModel result;
  result.model = build(options);
  copy_weights(*result.model, files, assignment);
  if (!assignment.fresh.empty()) {
    initialize(*result.model, seed, assignment.fresh);
  }
  result.fresh.assign(assignment.fresh.begin(), assignment.fresh.end());
  result.unused = assignment.unused;
  for (const auto& [wanted, name] : assignment.pairs) {
    result.stored.push_back({wanted.parameter, name, wanted.first_row, wanted.shape[0]});
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
    kept.push_back(converted(whole.narrow(0, stored.first_row, stored.shape[0]), dtype));
    tensors.push_back({stored.name, view_of(kept.back())});
    if (!stored.copy.empty()) {
      tensors.push_back({stored.copy, view_of(kept.back())});
    }
  }
  formats::write_safetensors(directory + "/model.safetensors", tensors, {{"format", "pt"}},
                             FileWriter::Mode::kPlain);
  write_config(directory, model.options(), dtype);
}

}  // namespace weft::models
