#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "models/adapters/lora.h"
#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_map.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr std::string_view kAdapterPrefix = "base_model.model.";

/// PEFT's name of a module that is trained in full: `classifier`, `pooler`.
std::string peft_module_name(const StoredTensor& tensor, const ModelOptions& model) {
  const auto prefix = std::string(hf_names_of(model).prefix) + ".";
  const auto name =
      tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : tensor.name;
  return name.substr(0, name.find('.'));
}

/// Returns the config's targets where they select the same layers in PEFT, which also searches
/// pooler and head; else the full name of every layer.
std::vector<std::string> target_modules(const ModelOptions& model, const Lora& lora) {
  auto words = lora.options.targets;
  if (words.empty()) {
    for (const auto& layer : lora.layers) {
      if (std::find(words.begin(), words.end(), layer.name) == words.end()) {
        words.push_back(layer.name);
      }
    }
  }
  const auto is_elsewhere = [&](const StoredTensor& tensor) {
    const auto module = module_of(tensor.name);
    const bool is_adapted = std::any_of(lora.layers.begin(), lora.layers.end(),
                                        [&](const auto& layer) { return layer.module == module; });
    return !is_adapted && std::any_of(words.begin(), words.end(), [&](const auto& word) {
      return word == "all-linear" || module == word || module.ends_with("." + word);
    });
  };
  const auto tensors = weight_map(model);
  if (std::none_of(tensors.begin(), tensors.end(), is_elsewhere)) {
    return words;
  }
  std::vector<std::string> modules;
  for (const auto& layer : lora.layers) {
    modules.push_back(layer.module);
  }
  return modules;
}

/// PEFT's task type, for models with a special PEFT wrapper; null: any model.
Json task_type(const ModelOptions& model) {
  const auto type = head_of(model).peft_task_type;
  return type.empty() ? Json(nullptr) : Json(type);
}

/// Whether the base stores its matrices transposed, as GPT-2 does.
bool stores_transposed(const ModelOptions& model) {
  const auto tensors = weight_map(model);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return tensor.is_transposed; });
}

Json adapter_config(const ModelOptions& model, const Lora& lora) {
  std::vector<std::string> modules_to_save;
  for (const auto& tensor : weight_map(model)) {
    const auto module = peft_module_name(tensor, model);
    if (lora.modules_to_save.contains(tensor.part) &&
        std::find(modules_to_save.begin(), modules_to_save.end(), module) ==
            modules_to_save.end()) {
      modules_to_save.push_back(module);
    }
  }
  Json json = {{"peft_type", "LORA"},
               {"task_type", task_type(model)},
               {"base_model_name_or_path", lora.base},
               {"r", lora.options.rank},
               {"lora_alpha", lora.options.alpha},
               {"lora_dropout", lora.options.dropout},
               {"target_modules", target_modules(model, lora)},
               {"modules_to_save", modules_to_save.empty() ? Json(nullptr) : Json(modules_to_save)},
               {"bias", "none"},
               {"fan_in_fan_out", stores_transposed(model)},
               {"inference_mode", true},
               {"init_lora_weights", true},
               {"use_rslora", false},
               {"use_dora", false},
               {"layers_to_transform", nullptr},
               {"layers_pattern", nullptr},
               {"rank_pattern", Json::object()},
               {"alpha_pattern", Json::object()}};
  write_prompt(json, model);
  return json;
}

}  // namespace

void save_adapter(const std::string& directory,
                  const ModelOptions& model,
                  const Lora& lora,
                  const ParameterSource& source) {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> kept;  // storage of the views
  std::vector<formats::NamedTensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    kept.push_back(to_dtype(tensor, formats::DType::kF32));
    tensors.push_back({std::string(kAdapterPrefix) + name, view_of(kept.back())});
  };
  for (const auto& layer : lora.layers) {
    add(layer.module + ".lora_A.weight", source(layer.a()));
    add(layer.module + ".lora_B.weight",
        interleave_heads(source(layer.b()), layer.interleaved_heads));
  }
  for (const auto& tensor : weight_map(model)) {
    if (lora.modules_to_save.contains(tensor.part)) {
      add(tensor.name, to_file_layout(rows_of(source(tensor.parameter), tensor), tensor));
    }
  }
  make_directories(directory);
  formats::write_safetensors(directory + "/adapter_model.safetensors", tensors, {{"format", "pt"}},
                             FileWriter::Mode::kPlain);
  FileWriter file(directory + "/adapter_config.json", FileWriter::Mode::kPlain);
  file.write(adapter_config(model, lora).dump(2) + "\n");
  file.commit();
}

}  // namespace weft::models
