#include "train/idle_keys.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "models/family.h"
#include "objectives/objective.h"
#include "train/freeze.h"
#include "train/layer_rates.h"

namespace weft::train {

namespace {

using config::Section;
using objectives::ObjectiveType;

/// Keys that tell how running text is cut, and keys of labels.
void refuse_idle_data(const Section& data, const RunConfig& config) {
  const data::DataOptions plain;
  const auto& options = config.data;
  const auto type = config.objective.type;
  const bool is_running_text = objectives::is_running_text(config.objective);
  const bool is_table = type == ObjectiveType::kClassify || type == ObjectiveType::kRegress;
  const auto refuse = [&](bool is_idle, std::string_view key, std::string_view only) {
    if (is_idle) {
      data.fail(key, text("has no effect here, only with ", only));
    }
  };
  if (!is_running_text) {
    constexpr std::string_view kOnly = "running text (objective.type: mlm)";
    refuse(options.pack != plain.pack, "pack", kOnly);
    refuse(options.document != plain.document, "document", kOnly);
    refuse(options.sentence != plain.sentence, "sentence", kOnly);
  }
  if (!is_table) {
    constexpr std::string_view kOnly = "labelled texts (objective.type: classify or regress)";
    refuse(options.folds.has_value(), "folds", kOnly);
    refuse(options.unlabelled != plain.unlabelled, "unlabelled", kOnly);
  }
  const bool takes_several =
      type == ObjectiveType::kRegress || config.objective.classes.multi_label;
  refuse(options.label_separator && !(is_table && takes_several), "label_separator",
         "objective.multi_label: true or objective.type: regress");
}

/// A sweep may be sorted by a figure of its test files.
void refuse_idle_best_by(const Section& train, const RunConfig& config) {
  const auto& best_by = config.train.best_by;
  if (!best_by || best_by->starts_with("test_")) {
    return;
  }
  if (!config.train.evaluate_every) {
    train.fail("best_by", "has no effect: train.evaluate_every is `never`; leave one of them out");
  }
  if (config.data.evaluate.empty() && !config.data.folds) {
    train.fail("best_by", "has no effect: there is no data.evaluate; name one or leave this out");
  }
}

std::vector<std::string> trained_parameters(const RunConfig& config) {
  auto model = config.model;
  model.head = objectives::make_objective(config.objective)->head();
  auto names = parameter_names(model);
  const auto frozen = frozen_parameters(config.train.freeze, names);
  std::erase_if(names, [&](const auto& name) { return frozen.contains(name); });
  return names;
}

/// With adapters, which parameters there are is known when the model is loaded.
void refuse_idle_rates(const Section& train, const RunConfig& config) {
  const auto& optimizer = config.train.optimizer;
  if (config.train.lora || (optimizer.layer_decay == 1 && !optimizer.head_lr)) {
    return;
  }
  const auto names = trained_parameters(config);
  const auto layers = layers_in(names);
  const auto is_head = [&](const auto& name) { return depth_of(name, layers) > layers; };
  const bool has_head = std::any_of(names.begin(), names.end(), is_head);
  const bool has_layers = !std::all_of(names.begin(), names.end(), is_head);
  if (optimizer.layer_decay != 1 && !has_layers) {
    train.fail("optimizer",
               text("layer_decay: has no effect, ", models::word_of(config.model.family),
                    " has no layers below its head that are trained; allowed is 1"));
  }
  if (optimizer.head_lr && !has_head) {
    train.fail("optimizer", "head_lr: has no effect, train.freeze holds pooler and head");
  }
}

}  // namespace

void refuse_idle_keys(const Section& data, const Section& train, const RunConfig& config) {
  if (train.is_describing()) {
    return;
  }
  refuse_idle_data(data, config);
  refuse_idle_best_by(train, config);
  refuse_idle_rates(train, config);
}

}  // namespace weft::train
