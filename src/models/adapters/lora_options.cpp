#include "models/adapters/lora_options.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "models/config/family_definition.h"
#include "models/weights/names.h"

namespace weft::models {

namespace {

constexpr std::string_view kAll = "all-linear";
constexpr std::string_view kEnding = ".weight";

/// What is adapted where the config names nothing: the query and value of the family (section 4.2
/// of the paper), or the matrix that holds them.
constexpr std::array<std::array<std::string_view, 2>, 7> kUsual = {
    {{"query", "value"},
     {"q_lin", "v_lin"},
     {"q_proj", "v_proj"},
     {"q", "v"},
     {"Wqkv", "Wqkv"},
     {"c_attn", "c_attn"},
     {"query_key_value", "query_key_value"}}};

/// Every linear layer of the stack.
std::vector<LoraSite> all_sites(const ModelOptions& model) {
  const auto in_module = definition_of(model.family).name_in_module;
  std::vector<LoraSite> sites;
  for (const auto& tensor : stored_tensors(model)) {
    if (tensor.part != Part::kBackbone || tensor.shape.size() != 2 ||
        !tensor.parameter.starts_with("layers.") || !tensor.name.ends_with(kEnding)) {
      continue;
    }
    const auto name = in_module ? in_module(tensor) : tensor.name;
    const auto module = name.substr(0, name.size() - kEnding.size());
    sites.push_back({.module = module,
                     .name = module.substr(module.rfind('.') + 1),
                     .linear = tensor.parameter.substr(0, tensor.parameter.size() - kEnding.size()),
                     .first_row = tensor.first_row,
                     .rows = tensor.rows(),
                     .columns = tensor.shape[tensor.is_transposed ? 0 : 1],
                     .interleaved_heads = tensor.interleaved_heads});
  }
  return sites;
}

bool is_meant(const LoraSite& site, const std::string& target) {
  return target == kAll || site.module == target || site.module.ends_with("." + target);
}

/// The last words of the layers, each once, and the longer names of those that share one.
std::vector<std::string> known_targets(const std::vector<LoraSite>& sites) {
  std::vector<std::string> words = {std::string(kAll)};
  for (const auto& site : sites) {
    if (std::find(words.begin(), words.end(), site.name) == words.end()) {
      words.push_back(site.name);
    }
  }
  return words;
}

std::vector<std::string> usual_targets(const std::vector<LoraSite>& sites) {
  for (const auto& pair : kUsual) {
    const auto has = [&](std::string_view word) {
      return std::any_of(sites.begin(), sites.end(),
                         [&](const auto& site) { return site.name == word; });
    };
    if (has(pair[0]) && has(pair[1])) {
      return {std::string(pair[0]), std::string(pair[1])};
    }
  }
  throw std::invalid_argument("must be named for this family");
}

}  // namespace

std::vector<LoraSite> lora_sites(const ModelOptions& model, const LoraOptions& options) {
  const auto sites = all_sites(model);
  if (sites.empty()) {
    throw std::invalid_argument("this model has no layers that adapters could stand beside");
  }
  const auto targets = options.targets.empty() ? usual_targets(sites) : options.targets;
  for (const auto& target : targets) {
    if (std::none_of(sites.begin(), sites.end(),
                     [&](const auto& site) { return is_meant(site, target); })) {
      const auto known = known_targets(sites);
      const auto near = nearest(target, known);
      throw std::invalid_argument(text("'", target, "' is not one of ", join(known),
                                       near.empty() ? "" : text("; did you mean '", near, "'?")));
    }
  }
  std::vector<LoraSite> chosen;
  std::copy_if(sites.begin(), sites.end(), std::back_inserter(chosen), [&](const auto& site) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const auto& target) { return is_meant(site, target); });
  });
  return chosen;
}

std::optional<LoraOptions> read_lora_options(config::Section section) {
  LoraOptions options;
  std::optional<int64_t> rank;
  section.read("rank", rank,
               {.help = "Rank of the adapters; null: none, every weight is trained.",
                .range = config::between(1, 4096)});
  constexpr std::string_view kOnly = "a rank";
  if (!rank && !section.is_describing()) {
    for (const auto* key : {"alpha", "dropout", "targets", "train"}) {
      if (section.has(key)) {
        section.fail(key, "has no effect without a rank");
      }
    }
    section.reject_unread();
    return std::nullopt;
  }
  section.read("alpha", options.alpha,
               {.help = "The adapters' products count alpha / rank.",
                .range = config::above(0),
                .only = kOnly});
  section.read("dropout", options.dropout,
               {.help = "Share of an adapter's inputs that is dropped.",
                .range = config::from_to_below(0, 1),
                .only = kOnly});
  section.read("targets", options.targets,
               {.help = "Linear layers that get an adapter, by the last words of their names in "
                        "transformers: query, value, attention.output.dense, all-linear, ...; "
                        "empty: query and value, or what holds them.",
                .only = kOnly});
  section.read("train", options.train,
               {.help = "Parts that are trained whole beside the adapters: head (of classes), "
                        "pooler; a part that init_from does not bring always is.",
                .only = kOnly});
  for (const auto& part : options.train) {
    if (part != "head" && part != "pooler") {
      section.fail("train", text("'", part, "' is not one of head, pooler"));
    }
  }
  options.rank = rank.value_or(0);
  section.reject_unread();
  return options;
}

}  // namespace weft::models
