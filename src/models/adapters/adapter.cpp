#include <algorithm>
#include <array>
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
#include "models/weights/stored_layout.h"
#include "models/weights/tensors.h"

namespace weft::models {

namespace {

using formats::Json;

constexpr std::string_view kAdapterPrefix = "base_model.model.";

std::string module_of(const StoredTensor& tensor) {
  return tensor.name.substr(0, tensor.name.rfind('.'));
}

/// The name by which PEFT finds a module that is trained whole: `classifier`, `pooler`.
std::string whole_module(const StoredTensor& tensor, const ModelOptions& model) {
  const auto prefix = std::string(facts_of(model).prefix) + ".";
  const auto name =
      tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : tensor.name;
  return name.substr(0, name.find('.'));
}

/// The config's words where they mean the same layers to PEFT, which looks in pooler and head too;
/// else every layer by its whole name.
std::vector<std::string> target_modules(const ModelOptions& model, const Lora& lora) {
  auto words = lora.options.targets;
  if (words.empty()) {
    for (const auto& site : lora.sites) {
      if (std::find(words.begin(), words.end(), site.name) == words.end()) {
        words.push_back(site.name);
      }
    }
  }
  const auto is_elsewhere = [&](const StoredTensor& tensor) {
    const auto module = module_of(tensor);
    const bool is_adapted = std::any_of(lora.sites.begin(), lora.sites.end(),
                                        [&](const auto& site) { return site.module == module; });
    return !is_adapted && std::any_of(words.begin(), words.end(), [&](const auto& word) {
      return word == "all-linear" || module == word || module.ends_with("." + word);
    });
  };
  const auto tensors = stored_tensors(model);
  if (std::none_of(tensors.begin(), tensors.end(), is_elsewhere)) {
    return words;
  }
  std::vector<std::string> modules;
  for (const auto& site : lora.sites) {
    modules.push_back(site.module);
  }
  return modules;
}

/// PEFT's word for the models that it must wrap in a way of their own; null: any model.
Json task_type(Head head) {
  constexpr std::array kTypes = {std::pair{Head::kSequence, "SEQ_CLS"},
                                 std::pair{Head::kToken, "TOKEN_CLS"},
                                 std::pair{Head::kSpan, "QUESTION_ANS"}};
  for (const auto& [known, word] : kTypes) {
    if (known == head) {
      return word;
    }
  }
  return nullptr;
}

/// Whether the base keeps its matrices the other way round, as GPT-2 does.
bool stores_transposed(const ModelOptions& model) {
  const auto tensors = stored_tensors(model);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return tensor.is_transposed; });
}

Json adapter_config(const ModelOptions& model, const Lora& lora) {
  std::vector<std::string> whole;
  for (const auto& tensor : stored_tensors(model)) {
    const auto module = whole_module(tensor, model);
    if (lora.whole.contains(tensor.part) &&
        std::find(whole.begin(), whole.end(), module) == whole.end()) {
      whole.push_back(module);
    }
  }
  Json json = {{"peft_type", "LORA"},
               {"task_type", task_type(model.head)},
               {"base_model_name_or_path", lora.base},
               {"r", lora.options.rank},
               {"lora_alpha", lora.options.alpha},
               {"lora_dropout", lora.options.dropout},
               {"target_modules", target_modules(model, lora)},
               {"modules_to_save", whole.empty() ? Json(nullptr) : Json(whole)},
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
  std::vector<at::Tensor> kept;  // what the views look at
  std::vector<formats::NamedTensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    kept.push_back(converted(tensor, formats::DType::kF32));
    tensors.push_back({std::string(kAdapterPrefix) + name, view_of(kept.back())});
  };
  for (const auto& site : lora.sites) {
    add(site.module + ".lora_A.weight", source(site.a()));
    add(site.module + ".lora_B.weight", to_heads(source(site.b()), site.interleaved_heads));
  }
  for (const auto& tensor : stored_tensors(model)) {
    if (lora.whole.contains(tensor.part)) {
      add(tensor.name, to_stored(rows_of(source(tensor.parameter), tensor), tensor));
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
