#include "train/optimizer/parameter_groups.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "base/error.h"
#include "base/string_util.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/layer_wise_lr_decay.h"

namespace weft::train {

namespace {

// Groups of the parameters' tensors: a tied weight is in the first group that has any of its names.
using GroupOfTensor = std::unordered_map<const void*, std::size_t>;

GroupOfTensor group_of_tensors(const OptimizerOptions& options, const torch::nn::Module& module) {
  const auto parameters = module.named_parameters();
  std::set<std::string> frozen;
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) {
      frozen.insert(item.key());
    }
  }
  GroupOfTensor groups;
  try {
    for (const auto& [name, group] : parameter_groups(options.groups, parameters.keys(), frozen)) {
      auto& first = groups.try_emplace(parameters[name].unsafeGetTensorImpl(), group).first->second;
      first = std::min(first, group);
    }
  } catch (const std::invalid_argument& error) {
    throw UserError(str_cat("train.optimizer.", error.what()));
  }
  return groups;
}

}  // namespace

std::map<std::string, std::size_t> parameter_groups(const std::vector<OptimizerOptions>& groups,
                                                    const std::vector<std::string>& parameters,
                                                    const std::set<std::string>& frozen) {
  std::map<std::string, std::size_t> group_of;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto place = str_cat("groups.", i, ".parameters: ");
    bool has_parameters = false;
    try {
      for (const auto& name : selected_parameters(groups[i].parameters, parameters)) {
        const bool is_first = group_of.try_emplace(name, i + 1).second;
        has_parameters = has_parameters || (is_first && !frozen.contains(name));
      }
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(place + error.what());
    }
    if (!has_parameters) {
      throw std::invalid_argument(str_cat(
          place, "'", groups[i].parameters,
          "' has no effect: all parameters that it matches are frozen or in an earlier group"));
    }
  }
  return group_of;
}

ParameterSettingsFunction parameter_settings(const OptimizerOptions& options,
                                             const torch::nn::Module& module) {
  auto rules = options.groups;
  rules.insert(rules.begin(), options);
  std::vector<LrScaleFunction> lr_scales;
  for (const auto& rule : rules) {
    lr_scales.push_back(layer_wise_lr_scales(rule, module));
  }
  return [rules, lr_scales, lr = options.lr, groups = group_of_tensors(options, module)](
             const std::string& name, const at::Tensor& parameter) {
    const auto found = groups.find(parameter.unsafeGetTensorImpl());
    const std::size_t group = found == groups.end() ? 0 : found->second;
    const auto& rule = rules[group];
    return ParameterSettings{
        .group = group,
        .decays = rule.decay_on == DecayOn::kAll || parameter.dim() >= 2,
        .lr_scale = rule.lr / lr * (lr_scales[group] ? lr_scales[group](name) : 1.0),
        .has_own_segment = rule.scale_parameter};
  };
}

}  // namespace weft::train
