#include "train/optimizer/freeze.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fnmatch.h>

#include "base/error.h"
#include "base/string_util.h"
#include "models/generator.h"
#include "models/weights/weight_map.h"
#include "train/optimizer/layer_wise_lr_decay.h"

namespace weft::train {

namespace {

constexpr int64_t kSomeVocabulary = 65'536;

// `layers.2-5`.
struct LayerRange {
  std::string stem;  // `layers.`
  int64_t first = 0;
  int64_t last = 0;
};

std::optional<int64_t> freeze_number(std::string_view digits) {
  int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && value >= 0 ? std::optional(value)
                                                                     : std::nullopt;
}

std::optional<LayerRange> range_of(const std::string& item) {
  const auto dot = item.rfind('.');
  const auto dash = item.rfind('-');
  if (dot == std::string::npos || dash == std::string::npos || dash < dot) {
    return std::nullopt;
  }
  const auto first = freeze_number(std::string_view(item).substr(dot + 1, dash - dot - 1));
  const auto last = freeze_number(std::string_view(item).substr(dash + 1));
  if (!first || !last) {
    return std::nullopt;
  }
  return LayerRange{.stem = item.substr(0, dot + 1), .first = *first, .last = *last};
}

bool is_at_or_below(const std::string& parameter, const std::string& part) {
  return parameter.starts_with(part) &&
         (parameter.size() == part.size() || parameter[part.size()] == '.');
}

// All valid item names: `layers`, `layers.0`, ..., `layers.0.attention.qkv.weight`.
std::vector<std::string> all_names(const std::vector<std::string>& parameters) {
  std::set<std::string> names = {"backbone"};
  for (const auto& parameter : parameters) {
    for (auto dot = parameter.find('.'); dot != std::string::npos;
         dot = parameter.find('.', dot + 1)) {
      names.insert(parameter.substr(0, dot));
    }
    names.insert(parameter);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> top_level_modules(const std::vector<std::string>& parameters) {
  std::set<std::string> names;
  for (const auto& parameter : parameters) {
    names.insert(parameter.substr(0, parameter.find('.')));
  }
  return {names.begin(), names.end()};
}

[[noreturn]] void refuse_freeze(const std::string& item,
                                const std::vector<std::string>& parameters) {
  const auto near = did_you_mean(item, all_names(parameters));
  throw std::invalid_argument(str_cat("'", item,
                                      "' matches no parameter of the model, whose modules are ",
                                      join(top_level_modules(parameters)),
                                      near.empty() ? "" : str_cat("; did you mean '", near, "'?")));
}

std::vector<std::string> matching_parameters(const std::string& item,
                                             const std::vector<std::string>& parameters) {
  std::vector<std::string> found;
  const auto take = [&](const auto& matches_target) {
    std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(found), matches_target);
  };
  if (item == "backbone") {
    const ParameterDepths depths(parameters);
    take([&](const auto& parameter) { return !depths.is_head(parameter); });
  } else if (item.find_first_of("*?[") != std::string::npos) {
    take([&](const auto& parameter) { return ::fnmatch(item.c_str(), parameter.c_str(), 0) == 0; });
  } else {
    take([&](const auto& parameter) { return is_at_or_below(parameter, item); });
  }
  if (found.empty()) {
    refuse_freeze(item, parameters);
  }
  return found;
}

std::vector<std::string> expand_range(const std::string& item,
                                      const std::vector<std::string>& parameters) {
  const auto range = range_of(item);
  if (!range) {
    return {item};
  }
  if (range->first > range->last) {
    throw std::invalid_argument(str_cat("'", item, "' is a descending range"));
  }
  const int64_t layers = ParameterDepths(parameters).blocks();
  if (range->stem == "layers." && range->last >= layers) {
    throw std::invalid_argument(
        str_cat("'", item, "' is beyond the last layer, layers.", layers - 1));
  }
  std::vector<std::string> items;
  for (int64_t layer = range->first; layer <= range->last; ++layer) {
    items.push_back(range->stem + std::to_string(layer));
    matching_parameters(items.back(), parameters);  // rejects missing layers before a long loop
  }
  return items;
}

}  // namespace

std::set<std::string> selected_parameters(const std::string& item,
                                          const std::vector<std::string>& parameters) {
  std::set<std::string> selected;
  for (const auto& name : expand_range(item, parameters)) {
    const auto found = matching_parameters(name, parameters);
    selected.insert(found.begin(), found.end());
  }
  return selected;
}

std::set<std::string> frozen_parameters(const std::vector<std::string>& items,
                                        const std::vector<std::string>& parameters) {
  std::set<std::string> frozen;
  for (const auto& item : items) {
    frozen.merge(selected_parameters(item, parameters));
  }
  const bool is_any_trained =
      std::any_of(parameters.begin(), parameters.end(),
                  [&](const auto& parameter) { return !frozen.contains(parameter); });
  if (!is_any_trained) {
    throw std::invalid_argument("leaves no trainable parameters");
  }
  return frozen;
}

std::vector<std::string> parameter_names(const models::ModelOptions& options) {
  std::vector<std::string> names;
  // Names do not depend on the size of a vocabulary that is yet to be trained.
  auto known = options;
  known.vocabulary = known.vocabulary > 0 ? known.vocabulary : kSomeVocabulary;
  for (const auto& tensor : models::weight_map(known)) {
    if (std::find(names.begin(), names.end(), tensor.parameter) == names.end()) {
      names.push_back(tensor.parameter);
    }
  }
  return names;
}

std::vector<std::string> parameter_names(const models::ModelOptions& options,
                                         const objectives::Objective& objective) {
  auto names = parameter_names(options);
  if (const auto generator = objective.generator_options(options)) {
    for (const auto& name : parameter_names(*generator)) {
      names.push_back(str_cat(models::kGeneratorPrefix, name));
    }
  }
  return names;
}

void freeze(torch::nn::Module& model, const std::vector<std::string>& items) {
  if (items.empty()) {
    return;
  }
  auto parameters = model.named_parameters();
  std::set<std::string> frozen;
  try {
    frozen = frozen_parameters(items, parameters.keys());
  } catch (const std::invalid_argument& error) {
    throw UserError(str_cat("train.freeze: ", error.what()));
  }
  for (const auto& name : frozen) {
    parameters[name].set_requires_grad(false);
  }
}

}  // namespace weft::train
