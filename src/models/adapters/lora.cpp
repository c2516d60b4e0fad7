#include "models/adapters/lora.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "formats/safetensors.h"
#include "models/config/heads.h"
#include "models/weights/tensors.h"
#include "nn/dropout_sites.h"
#include "nn/linear.h"

namespace weft::models {

namespace {

constexpr auto kWhole = "whole";  // metadata key of the state file

/// U(-1/sqrt(D), 1/sqrt(D)).
void fill_lora_uniform(at::Tensor parameter, const std::string& name, uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
  Random random(seed, RandomPurpose::kInitialize, 0, digest(name));
  auto values = at::empty(parameter.sizes(), at::kFloat);
  auto* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    data[i] = static_cast<float>(bound * (2 * random.uniform_double() - 1));
  }
  parameter.copy_(values);
}

nn::LinearImpl& linear_of(Model& model, const std::string& name) {
  auto* linear = dynamic_cast<nn::LinearImpl*>(find_module(model, name));
  TORCH_CHECK(linear != nullptr, name, " is no linear layer of the model");
  return *linear;
}

std::string lora_word_of(Part part) { return part == Part::kPooler ? "pooler" : "head"; }

/// Part of each parameter.
std::map<std::string, Part> parts_of(const ModelOptions& options) {
  std::map<std::string, Part> parts;
  for (const auto& tensor : weight_map(options)) {
    parts[tensor.parameter] = tensor.part;
  }
  return parts;
}

/// Named fp32 tensors on the host, kept alive while they are written.
class TensorList {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(to_dtype(tensor, formats::DType::kF32));
    named_.push_back({name, view_of(kept_.back())});
  }
  const std::vector<formats::NamedTensor>& views() const { return named_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<formats::NamedTensor> named_;
};

at::Tensor lora_rows_of(const at::Tensor& weight, const LoraLayer& layer) {
  return weight.narrow(0, layer.first_row, layer.rows);
}

}  // namespace

void attach_lora(Model& model, const Lora& lora, uint64_t seed) {
  const at::NoGradGuard guard;
  const auto parts = parts_of(model.options());
  for (auto& parameter : model.named_parameters()) {
    const auto part = parts.find(parameter.key());
    parameter.value().set_requires_grad(part != parts.end() &&
                                        lora.modules_to_save.contains(part->second));
  }
  for (std::size_t i = 0; i < lora.layers.size(); ++i) {
    const auto& layer = lora.layers[i];
    linear_of(model, layer.linear)
        .add_adapter({.name = layer.name,
                      .first_row = layer.first_row,
                      .rows = layer.rows,
                      .rank = lora.options.rank,
                      .scale = lora.options.scale(),
                      .dropout = lora.options.dropout,
                      .site = nn::adapter_site(i)});
  }
  const auto parameters = model.named_parameters();
  for (const auto& layer : lora.layers) {
    fill_lora_uniform(parameters[layer.a()], layer.a(), seed);
    parameters[layer.b()].zero_();
  }
}

std::set<Part> modules_to_save_of(const ModelOptions& model,
                                  const LoraOptions& options,
                                  const std::vector<std::string>& missing_keys) {
  std::set<Part> modules_to_save;
  const auto parts = parts_of(model);
  const bool may_save = !head_of(model).peft_task_type.empty();
  for (const auto& parameter : missing_keys) {
    modules_to_save.insert(parts.at(parameter));
  }
  for (const auto part : {Part::kPooler, Part::kHead}) {
    const bool is_named = std::find(options.modules_to_save.begin(), options.modules_to_save.end(),
                                    lora_word_of(part)) != options.modules_to_save.end();
    const bool is_there = std::any_of(parts.begin(), parts.end(),
                                      [&](const auto& item) { return item.second == part; });
    if (is_named && is_there && may_save) {
      modules_to_save.insert(part);
    }
  }
  if (!may_save && !modules_to_save.empty()) {
    throw std::invalid_argument(
        "init_from has no head for this objective: LoRA needs an existing head, or a "
        "classification head");
  }
  return modules_to_save;
}

ParameterSource merged(const Lora& lora, const ParameterSource& source) {
  return [&lora, source](const std::string& name) {
    auto weight = source(name);
    bool is_ours = false;  // already a copy; the source's tensor is not modified
    for (const auto& layer : lora.layers) {
      if (layer.weight() == name) {
        weight = is_ours ? weight : weight.to(at::kFloat, false, true);
        is_ours = true;
        lora_rows_of(weight, layer)
            .addmm_(source(layer.b()).to(at::kFloat), source(layer.a()).to(at::kFloat), 1,
                    lora.options.scale());
      }
    }
    return weight;
  };
}

void save_lora_state(const std::string& path, const Lora& lora, const ParameterSource& source) {
  const at::NoGradGuard guard;
  TensorList tensors;
  for (const auto& layer : lora.layers) {
    tensors.add(layer.module + ".weight", lora_rows_of(source(layer.weight()), layer));
    tensors.add(layer.module + ".lora_A", source(layer.a()));
    tensors.add(layer.module + ".lora_B", source(layer.b()));
  }
  std::vector<std::string> words;
  for (const auto part : lora.modules_to_save) {
    words.push_back(lora_word_of(part));
  }
  formats::write_safetensors(path, tensors.views(), {{"format", "pt"}, {kWhole, join(words, ",")}},
                             FileWriter::Mode::kPlain);
}

void load_lora_state(const std::string& path, Model& model, const Lora& lora) {
  const at::NoGradGuard guard;
  const formats::SafetensorsFile file(path);
  const auto parameters = model.named_parameters();
  const auto bring = [&](at::Tensor target, const std::string& name) {
    const auto& view = file.at(name);
    if (view.shape != target.sizes().vec() || view.dtype != formats::DType::kF32) {
      throw formats::Error(str_cat(path, ": ", name, ": found ", shape_text(view.shape),
                                   ", but the model's shape is ",
                                   shape_text(target.sizes().vec())));
    }
    target.copy_(tensor_of(view));
  };
  for (const auto& layer : lora.layers) {
    bring(lora_rows_of(parameters[layer.weight()], layer), layer.module + ".weight");
    bring(parameters[layer.a()], layer.module + ".lora_A");
    bring(parameters[layer.b()], layer.module + ".lora_B");
  }
}

std::set<Part> read_modules_to_save(const std::string& path) {
  const formats::SafetensorsFile file(path);
  std::set<Part> parts;
  const auto found = file.metadata().find(kWhole);
  const auto words = found == file.metadata().end() ? std::string() : found->second;
  for (const auto word : split(words, ',')) {
    if (word == "pooler") {
      parts.insert(Part::kPooler);
    } else if (word == "head") {
      parts.insert(Part::kHead);
    }
  }
  return parts;
}

}  // namespace weft::models
