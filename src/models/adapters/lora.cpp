#include "models/adapters/lora.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "formats/safetensors.h"
#include "models/weights/tensors.h"
#include "nn/linear.h"
#include "nn/sites.h"

namespace weft::models {

namespace {

constexpr auto kWhole = "whole";  // of the state file's metadata

/// U(-1/sqrt(D), 1/sqrt(D)).
void fill_lora_uniform(at::Tensor parameter, const std::string& name, uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
  Random random(seed, Purpose::kInitialize, 0, digest(name));
  auto values = at::empty(parameter.sizes(), at::kFloat);
  auto* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    data[i] = static_cast<float>(bound * (2 * random.uniform_double() - 1));
  }
  parameter.copy_(values);
}

nn::Linear& linear_of(Model& model, const std::string& name) {
  auto* linear = dynamic_cast<nn::Linear*>(model.find(name));
  TORCH_CHECK(linear != nullptr, name, " is no linear layer of the model");
  return *linear;
}

bool is_lora_classifying(Head head) {
  return head == Head::kSequence || head == Head::kToken || head == Head::kSpan;
}

std::string lora_word_of(Part part) { return part == Part::kPooler ? "pooler" : "head"; }

/// Which part each of our parameters belongs to.
std::map<std::string, Part> parts_of(const ModelOptions& options) {
  std::map<std::string, Part> parts;
  for (const auto& tensor : stored_tensors(options)) {
    parts[tensor.parameter] = tensor.part;
  }
  return parts;
}

/// A named fp32 tensor on the host that lives as long as it is written.
class TensorList {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(converted(tensor, formats::DType::kF32));
    named_.push_back({name, view_of(kept_.back())});
  }
  const std::vector<formats::NamedTensor>& views() const { return named_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<formats::NamedTensor> named_;
};

at::Tensor lora_rows_of(const at::Tensor& weight, const LoraSite& site) {
  return weight.narrow(0, site.first_row, site.rows);
}

}  // namespace

void attach_lora(Model& model, const Lora& lora, uint64_t seed) {
  const at::NoGradGuard guard;
  const auto parts = parts_of(model.options());
  for (auto& parameter : model.named_parameters()) {
    const auto part = parts.find(parameter.key());
    parameter.value().set_requires_grad(part != parts.end() && lora.whole.contains(part->second));
  }
  for (std::size_t i = 0; i < lora.sites.size(); ++i) {
    const auto& site = lora.sites[i];
    linear_of(model, site.linear)
        .add_adapter({.name = site.name,
                      .first_row = site.first_row,
                      .rows = site.rows,
                      .rank = lora.options.rank,
                      .scale = lora.options.scale(),
                      .dropout = lora.options.dropout,
                      .site = nn::adapter_site(i)});
  }
  const auto parameters = model.named_parameters();
  for (const auto& site : lora.sites) {
    fill_lora_uniform(parameters[site.a()], site.a(), seed);
    parameters[site.b()].zero_();
  }
}

std::set<Part> whole_parts(const ModelOptions& model,
                           const LoraOptions& options,
                           const std::vector<std::string>& fresh) {
  std::set<Part> whole;
  const auto parts = parts_of(model);
  for (const auto& parameter : fresh) {
    whole.insert(parts.at(parameter));
  }
  for (const auto part : {Part::kPooler, Part::kHead}) {
    const bool is_named = std::find(options.train.begin(), options.train.end(),
                                    lora_word_of(part)) != options.train.end();
    const bool is_there = std::any_of(parts.begin(), parts.end(),
                                      [&](const auto& item) { return item.second == part; });
    if (is_named && is_there && is_lora_classifying(model.head)) {
      whole.insert(part);
    }
  }
  if (!is_lora_classifying(model.head) && !whole.empty()) {
    throw std::invalid_argument(
        "init_from has no head for this objective: adapters go beside a "
        "head that is there, or one of classes");
  }
  return whole;
}

ParameterSource merged(const Lora& lora, const ParameterSource& source) {
  return [&lora, source](const std::string& name) {
    auto weight = source(name);
    bool is_ours = false;  // a copy: the source's tensor stays as it is
    for (const auto& site : lora.sites) {
      if (site.weight() == name) {
        weight = is_ours ? weight : weight.to(at::kFloat, false, true);
        is_ours = true;
        lora_rows_of(weight, site)
            .addmm_(source(site.b()).to(at::kFloat), source(site.a()).to(at::kFloat), 1,
                    lora.options.scale());
      }
    }
    return weight;
  };
}

void save_lora_state(const std::string& path, const Lora& lora, const ParameterSource& source) {
  const at::NoGradGuard guard;
  TensorList tensors;
  for (const auto& site : lora.sites) {
    tensors.add(site.module + ".weight", lora_rows_of(source(site.weight()), site));
    tensors.add(site.module + ".lora_A", source(site.a()));
    tensors.add(site.module + ".lora_B", source(site.b()));
  }
  std::vector<std::string> words;
  for (const auto part : lora.whole) {
    words.push_back(lora_word_of(part));
  }
  formats::write_safetensors(path, tensors.views(), {{"format", "pt"}, {kWhole, join(words, ",")}},
                             FileWriter::Mode::kPlain);
}

void load_lora_state(const std::string& path, Model& model, const Lora& lora) {
  const at::NoGradGuard guard;
  const formats::TensorFile file(path);
  const auto parameters = model.named_parameters();
  const auto bring = [&](at::Tensor target, const std::string& name) {
    const auto& view = file.at(name);
    if (view.shape != target.sizes().vec() || view.dtype != formats::DType::kF32) {
      throw formats::Error(text(path, ": ", name, ": found ", shape_text(view.shape),
                                ", the model asks for ", shape_text(target.sizes().vec())));
    }
    target.copy_(tensor_of(view));
  };
  for (const auto& site : lora.sites) {
    bring(lora_rows_of(parameters[site.weight()], site), site.module + ".weight");
    bring(parameters[site.a()], site.module + ".lora_A");
    bring(parameters[site.b()], site.module + ".lora_B");
  }
}

std::set<Part> read_whole_parts(const std::string& path) {
  const formats::TensorFile file(path);
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
