#include "train/run/run_config.h"

#include <filesystem>
#include <stdexcept>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "objectives/objective_registry.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/parameter_groups.h"
#include "train/sweep/sweep_grid.h"

namespace weft::train {

namespace {

std::optional<models::ModelOptions> read_init_from(config::Section& root,
                                                   const std::string& init_from) {
  if (!std::filesystem::exists(init_from)) {
    root.fail("init_from", str_cat("'", init_from, "' does not exist, must be a model directory"));
  }
  try {
    return models::read_model_config(models::model_directory(init_from));
  } catch (const UserError& error) {
    root.fail("init_from", error.what());
  }
}

void require(const config::Section& root, std::string_view key, std::string_view message) {
  if (!root.is_documenting() && !root.has(key)) {
    root.fail(key, message);
  }
}

void reject_config(const config::Section& root, std::string_view key, std::string_view message) {
  if (root.has(key)) {
    root.fail(key, message);
  }
}

void read_tokenizer(config::Section& root, RunConfig& config) {
  if (config.init_from && !root.has("tokenizer")) {
    return;
  }
  auto section = root.section(
      "tokenizer",
      {.help = "Tokenizer to train or load. With init_from the model's tokenizer is used.",
       .only_if = "no init_from"});
  config.tokenizer = data::read_tokenizer_options(section);
  if (config.init_from && !config.tokenizer.file) {
    root.fail("tokenizer", "init_from brings its own tokenizer: omit this section");
  }
}

void check_lora(const config::Section& train, const RunConfig& config) {
  if (!config.init_from) {
    train.fail("lora", "LoRA needs existing weights: init_from is missing");
  }
  if (config.objective->generator_options(config.model)) {
    train.fail("lora", str_cat("is not supported by objective.type: ", config.objective->name(),
                               ", whose generator is fully trained"));
  }
  try {
    models::lora_layers(trained_model(config), *config.train.lora);
  } catch (const std::invalid_argument& error) {
    train.fail("lora", str_cat("target_modules: ", error.what()));
  }
}

// Checks that train.freeze and train.optimizer.groups name parameters of the model. With adapters,
// the parameters are only known when the model is loaded.
void check_parameter_patterns(const config::Section& train, const RunConfig& config) {
  const auto& groups = config.train.optimizer.groups;
  if (config.train.lora || (config.train.freeze.empty() && groups.empty())) {
    return;
  }
  const auto names = parameter_names(trained_model(config), *config.objective);
  std::set<std::string> frozen;
  try {
    frozen = frozen_parameters(config.train.freeze, names);
  } catch (const std::invalid_argument& error) {
    train.fail("freeze", error.what());
  }
  try {
    parameter_groups(groups, names, frozen);
  } catch (const std::invalid_argument& error) {
    train.fail("optimizer", error.what());
  }
}

// Checks that model and data support freezing and early stopping.
void check_fine_tuning(const config::Section& train, const RunConfig& config) {
  if (train.is_documenting()) {
    return;
  }
  if (config.train.early_stopping.patience && !config.data.has_evaluation()) {
    train.fail("early_stopping", "needs evaluations, but there is no data.evaluate");
  }
  if (config.train.lora) {
    check_lora(train, config);
  }
  check_parameter_patterns(train, config);
}

/// Layers whose attention is recorded are not recomputed.
void check_recorded_attention(const config::Section& train, const RunConfig& config) {
  const bool is_recorded = config.objective->traits(config.model).records_attention;
  if (is_recorded && !train.is_documenting() &&
      config.train.gradient_checkpointing == ActivationCheckpointing::kLayers) {
    train.fail("gradient_checkpointing",
               "layers has no effect with objective.alpha_attention, must be none");
  }
}

void check_baselines(const config::Section& train, const RunConfig& config) {
  if (models::is_baseline(config.model.family) && !train.is_documenting() &&
      config.train.gradient_checkpointing == ActivationCheckpointing::kLayers) {
    train.fail("gradient_checkpointing", "layers, but this model has no layers, must be none");
  }
}

void read_objective_of_run(config::Section& section, RunConfig& config) {
  config.objective = objectives::read_objective(section);
  if (config.init_from) {
    config.objective->init_from_model(section, models::model_directory(*config.init_from));
  }
  if (const auto wrong = objectives::find_incompatibility(*config.objective, config.model)) {
    section.fail(wrong->key, wrong->message);
  }
}

void read_all(config::Section root, RunConfig& config) {
  root.read("init_from", config.init_from,
            {.help = "Checkpoint, run directory or Hugging Face directory to initialise weights "
                     "and tokenizer from. null: random initialisation."});
  std::optional<models::ModelOptions> base;
  if (config.init_from) {
    base = read_init_from(root, *config.init_from);
  } else {
    require(root, "model", "missing, required unless init_from is given");
  }
  require(root, "data", "missing, required");
  require(root, "objective", "missing, required");

  auto model = root.section("model", {.help = "Model architecture: a preset, or all sizes."});
  config.model = models::read_model_options(model, base ? &*base : nullptr);
  if (models::reads_images(config.model) && !root.is_documenting()) {
    reject_config(root, "tokenizer", "an image model has no tokenizer: omit this section");
  } else {
    if (!config.init_from) {
      require(root, "tokenizer", "missing, required unless init_from is given");
    }
    read_tokenizer(root, config);
  }
  auto data = root.section("data", {.help = "Training and evaluation data.", .is_required = true});
  config.data = data::read_data_options(data);
  auto objective = root.section("objective", {.help = "Training objective.", .is_required = true});
  read_objective_of_run(objective, config);
  auto train = root.section("train", {.help = "Training settings."});
  config.train = read_train_options(train);
  if (!root.is_documenting()) {
    config.objective->check_training({.objective_section = objective,
                                      .data_section = data,
                                      .model = config.model,
                                      .data = config.data,
                                      .is_evaluated = config.train.evaluate_every.has_value()});
  }
  check_fine_tuning(train, config);
  reject_unused_keys(data, train, config);
  check_baselines(train, config);
  check_recorded_attention(train, config);
  auto run = root.section("run", {.help = "Run directory, random seed and device."});
  config.run = read_run_options(run);
  root.read_grid(
      "grid", config.grid,
      {.help = "Grid search: config keys with lists of values, as in `{train.optimizer.lr: [1e-5, "
               "5e-5]}`. `weft train` starts one run for every combination."});
  check_grid(root, config.grid);
  root.reject_unread();
}

}  // namespace

models::ModelOptions trained_model(const RunConfig& config) {
  auto model = config.model;
  model.head = config.objective->head(model);
  return model;
}

RunConfig read_run_config(const config::Document& document) {
  RunConfig config;
  read_all(document.root(), config);
  config.resolved = document.resolved();
  return config;
}

void describe_run_config(config::Section root) {
  RunConfig config;
  read_all(std::move(root), config);
}

}  // namespace weft::train
