#include "models/adapters/adapter_reader.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/config/config_json.h"
#include "models/config/heads.h"
#include "models/config/json_fields.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_map.h"

namespace weft::models {

namespace {

constexpr auto kAdapterConfig = "/adapter_config.json";
constexpr auto kTensors = "/adapter_model.safetensors";
constexpr std::string_view kStoredPrefix = "base_model.model.";
constexpr std::string_view kA = ".lora_A.weight";
constexpr std::string_view kB = ".lora_B.weight";
constexpr int64_t kAdapterLongest = int64_t{16} << 20;

/// Supported contents of adapter_config.json.
struct AdapterConfig {
  std::string base;
  std::string task;
  double alpha = 8;
  bool is_rank_stable = false;  // arXiv:2312.03732

  /// Factor of the low-rank product of this rank.
  double scale(int64_t rank) const {
    const auto ranks = static_cast<double>(rank);
    return alpha / (is_rank_stable ? std::sqrt(ranks) : ranks);
  }
};

/// Rejects adapters other than two matrices per layer.
void reject_unsupported_adapters(const JsonFields& fields) {
  std::string type = "LORA";
  std::string bias = "none";
  bool is_dora = false;
  fields.read("peft_type", type);
  fields.read("bias", bias);
  fields.read("use_dora", is_dora);
  if (type != "LORA") {
    fields.fail("peft_type", str_cat("'", type, "', must be LORA"));
  }
  if (bias != "none") {
    fields.fail("bias", str_cat("'", bias, "', must be none"));
  }
  if (is_dora) {
    fields.fail("use_dora", "true, must be false");
  }
  if (fields.has("alpha_pattern") && !fields.at("alpha_pattern").empty()) {
    fields.fail("alpha_pattern", "must be empty: one alpha for all layers is supported");
  }
  int64_t rank = 1;  // checked only; the matrices define the rank
  fields.read("r", rank, 1, int64_t{1} << 20);
}

AdapterConfig read_fields(const JsonFields& fields) {
  reject_unsupported_adapters(fields);
  AdapterConfig config;
  fields.read("base_model_name_or_path", config.base);
  fields.read("task_type", config.task);
  fields.read("lora_alpha", config.alpha, 0, 1e9);
  fields.read("use_rslora", config.is_rank_stable);
  return config;
}

AdapterConfig read_config(const std::string& directory) {
  const auto path = directory + kAdapterConfig;
  const auto json = formats::read_json(path, kAdapterLongest);
  return read_fields(JsonFields(json, path));
}

Head head_of_task(const std::string& task, Head otherwise) {
  for (const auto& definition : head_table()) {
    if (!task.empty() && definition.peft_task_type == task) {
      return definition.head;
    }
  }
  return otherwise;
}

std::vector<std::string> numbered_labels(int64_t count) {
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) {
    labels.push_back(str_cat("LABEL_", i));
  }
  return labels;
}

/// Tensors of the model's file, under each of their names.
std::map<std::string, StoredTensor> by_name(const ModelOptions& options) {
  std::map<std::string, StoredTensor> result;
  for (const auto& tensor : weight_map(options)) {
    for (const auto& name : name_aliases(tensor, options)) {
      result.emplace(name, tensor);
    }
  }
  return result;
}

/// Loads the adapter's tensors into the parameters of a model.
class Application {
 public:
  Application(const std::string& directory, Model& model)
      : file_(directory + kTensors),
        config_(read_config(directory)),
        parameters_(model.named_parameters()),
        stored_(by_name(model.options())) {}

  std::set<std::string> operator()() {
    std::set<std::string> whole;
    for (const auto& [name, view] : file_.tensors()) {
      if (!name.starts_with(kStoredPrefix)) {
        fail(name);
      }
      const auto inner = name.substr(kStoredPrefix.size());
      if (inner.ends_with(kA)) {
        add(inner.substr(0, inner.size() - kA.size()), tensor_of(view));
      } else if (!inner.ends_with(kB)) {
        whole.insert(put(name, inner, tensor_of(view)));
      }
    }
    return whole;
  }

 private:
  [[noreturn]] void fail(const std::string& name) const {
    throw formats::Error(
        str_cat(file_.path(), ": ", name.substr(0, 200), ": the model has no such layer"));
  }

  at::Tensor rows(const StoredTensor& tensor) {
    return rows_of(parameters_[tensor.parameter], tensor);
  }

  void add(const std::string& module, const at::Tensor& a) {
    const auto found = stored_.find(module + ".weight");
    const auto name = std::string(kStoredPrefix) + module;
    if (found == stored_.end() || found->second.shape.size() != 2) {
      fail(name);
    }
    const auto b = tensor_of(file_.at(name + std::string(kB)));
    const auto shape = rows(found->second).sizes().vec();
    if (a.dim() != 2 || b.dim() != 2 || a.size(0) == 0 || a.size(0) != b.size(1) ||
        b.size(0) != shape[0] || a.size(1) != shape[1]) {
      throw formats::Error(str_cat(file_.path(), ": ", name, ": the shapes of its matrices ",
                                   shape_text(b.sizes().vec()), " and ",
                                   shape_text(a.sizes().vec()), " do not match a layer of shape ",
                                   shape_text(shape)));
    }
    // In the orientation of the layer, however its matrix is stored: fan_in_fan_out is ignored, as
    // in PEFT, which checks the layer too.
    const auto change = at::matmul(b.to(at::kFloat), a.to(at::kFloat)) * config_.scale(a.size(0));
    rows(found->second)
        .add_(found->second.is_transposed ? change : from_file_layout(change, found->second));
  }

  std::string put(const std::string& name, const std::string& inner, const at::Tensor& value) {
    const auto found = stored_.find(inner);
    if (found == stored_.end()) {
      fail(name);
    }
    if (value.sizes().vec() != found->second.shape) {
      throw formats::Error(str_cat(file_.path(), ": ", name, ": found ",
                                   shape_text(value.sizes().vec()), ", but the model's shape is ",
                                   shape_text(found->second.shape)));
    }
    rows(found->second).copy_(from_file_layout(value, found->second));
    return found->second.parameter;
  }

  formats::SafetensorsFile file_;
  AdapterConfig config_;
  torch::OrderedDict<std::string, at::Tensor> parameters_;
  std::map<std::string, StoredTensor> stored_;
};

}  // namespace

bool is_adapter_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + kAdapterConfig, ignored) &&
         !std::filesystem::exists(path + "/config.json", ignored);
}

std::string adapter_base(const std::string& path) { return read_config(path).base; }

ModelOptions adapter_options(const std::string& path, const ModelOptions& base) {
  const auto json = formats::read_json(path + kAdapterConfig, kAdapterLongest);
  const JsonFields fields(json, path + kAdapterConfig);
  auto options = base;
  options.head = head_of_task(read_fields(fields).task, base.head);
  read_prompt(fields, options);
  if (!head_of(options).has_classes()) {
    return options;
  }
  if (options.labels.empty() && !options.is_regression) {
    options.labels = numbered_labels(2);
  }
  const formats::SafetensorsFile file(path + kTensors);
  for (const auto& tensor : weight_map(options)) {
    const auto found = file.tensors().find(std::string(kStoredPrefix) + tensor.name);
    const bool gives_classes =
        tensor.parameter == "head.output.weight" || tensor.parameter == "head.weight";
    if (gives_classes && found != file.tensors().end() && !found->second.shape.empty() &&
        found->second.shape[0] != head_outputs(options)) {
      options.labels = numbered_labels(found->second.shape[0]);
      options.is_regression = found->second.shape[0] == 1;
    }
  }
  return options;
}

std::set<std::string> apply_adapter(const std::string& path, Model& model) {
  const at::NoGradGuard guard;
  return Application(path, model)();
}

}  // namespace weft::models
