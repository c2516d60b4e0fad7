#include "models/adapters/lora_options.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "models/weights/weight_map.h"

namespace weft::models {

namespace {

constexpr std::string_view kAll = "all-linear";
constexpr std::string_view kEnding = ".weight";

/// Default targets: the query and value of the family (section 4.2 of the paper), or the matrix
/// that contains them.
constexpr std::array<std::array<std::string_view, 2>, 8> kDefaultTargets = {
    {{"query", "value"},
     {"q_lin", "v_lin"},
     {"q_proj", "v_proj"},
     {"q", "v"},
     {"q_head", "v_head"},
     {"Wqkv", "Wqkv"},
     {"c_attn", "c_attn"},
     {"query_key_value", "query_key_value"}}};

/// Every linear layer of the stack.
std::vector<LoraLayer> all_lora_layers(const ModelOptions& model) {
  const auto& in_module = model.family->hf_module_name;
  std::vector<LoraLayer> layers;
  for (const auto& tensor : weight_map(model)) {
    if (tensor.part != Part::kBackbone || tensor.shape.size() != 2 ||
        !tensor.parameter.starts_with("layers.") || !tensor.name.ends_with(kEnding)) {
      continue;
    }
    const auto name = in_module ? in_module(tensor) : tensor.name;
    const auto module = name.substr(0, name.size() - kEnding.size());
    layers.push_back(
        {.module = module,
         .name = module.substr(module.rfind('.') + 1),
         .linear = tensor.parameter.substr(0, tensor.parameter.size() - kEnding.size()),
         .first_row = tensor.first_row,
         .rows = tensor.rows(),
         .columns = tensor.shape[tensor.is_transposed ? 0 : 1],
         .interleaved_heads = tensor.interleaved_heads});
  }
  return layers;
}

bool matches_target(const LoraLayer& layer, const std::string& target) {
  return target == kAll || layer.module == target || layer.module.ends_with("." + target);
}

/// `all-linear` and the last component of each layer's name, without duplicates.
std::vector<std::string> known_targets(const std::vector<LoraLayer>& layers) {
  std::vector<std::string> words = {std::string(kAll)};
  for (const auto& layer : layers) {
    if (std::find(words.begin(), words.end(), layer.name) == words.end()) {
      words.push_back(layer.name);
    }
  }
  return words;
}

std::vector<std::string> default_targets(const std::vector<LoraLayer>& layers) {
  for (const auto& pair : kDefaultTargets) {
    const auto has = [&](std::string_view word) {
      return std::any_of(layers.begin(), layers.end(),
                         [&](const auto& layer) { return layer.name == word; });
    };
    if (has(pair[0]) && has(pair[1])) {
      return {std::string(pair[0]), std::string(pair[1])};
    }
  }
  throw std::invalid_argument("must be given for this model family");
}

}  // namespace

std::vector<LoraLayer> lora_layers(const ModelOptions& model, const LoraOptions& options) {
  const auto layers = all_lora_layers(model);
  if (layers.empty()) {
    throw std::invalid_argument("this model has no layers that adapters can be added to");
  }
  const auto targets = options.targets.empty() ? default_targets(layers) : options.targets;
  for (const auto& target : targets) {
    if (std::none_of(layers.begin(), layers.end(),
                     [&](const auto& layer) { return matches_target(layer, target); })) {
      const auto known = known_targets(layers);
      const auto near = did_you_mean(target, known);
      throw std::invalid_argument(
          str_cat("'", target, "' is not one of ", join(known),
                  near.empty() ? "" : str_cat("; did you mean '", near, "'?")));
    }
  }
  std::vector<LoraLayer> selected;
  std::copy_if(layers.begin(), layers.end(), std::back_inserter(selected), [&](const auto& layer) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const auto& target) { return matches_target(layer, target); });
  });
  return selected;
}

std::optional<LoraOptions> read_lora_options(config::Section section) {
  LoraOptions options;
  std::optional<int64_t> rank;
  section.read("rank", rank,
               {.help = "LoRA rank (arXiv:2106.09685). null: no adapters, all weights are trained.",
                .range = config::between(1, 4096)});
  constexpr std::string_view kOnly = "train.lora.rank";
  if (!rank && !section.is_documenting()) {
    for (const auto* key : {"alpha", "dropout", "target_modules", "modules_to_save"}) {
      if (section.has(key)) {
        section.report(key, "has no effect without a rank");
      }
    }
    section.reject_unread();
    return std::nullopt;
  }
  section.read("alpha", options.alpha,
               {.help = "LoRA alpha: adapter outputs are scaled by alpha / rank.",
                .range = config::above(0),
                .only_if = kOnly});
  section.read(
      "dropout", options.dropout,
      {.help = "LoRA dropout: probability of dropping an input feature of an adapter in training.",
       .range = config::half_open(0, 1),
       .only_if = kOnly});
  section.read("target_modules", options.targets,
               {.help = "Target modules: linear layers that get an adapter, as the last parts of "
                        "their names in transformers (query, value, attention.output.dense, ...), "
                        "or all-linear. Empty: the query and value projections.",
                .only_if = kOnly});
  section.read(
      "modules_to_save", options.modules_to_save,
      {.help = "Modules that are fully trained and saved besides the adapters: head (of a "
               "classifier), pooler. Parts that are missing in init_from are always trained.",
       .only_if = kOnly});
  for (const auto& part : options.modules_to_save) {
    if (part != "head" && part != "pooler") {
      section.report("modules_to_save", str_cat("'", part, "' is not one of head, pooler"));
    }
  }
  options.rank = rank.value_or(0);
  section.reject_unread();
  return options;
}

}  // namespace weft::models
