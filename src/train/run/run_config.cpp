#include "train/run/run_config.h"

#include <filesystem>
#include <stdexcept>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/generator.h"
#include "objectives/data/image_datasets.h"
#include "objectives/objective.h"
#include "train/optimizer/freeze.h"
#include "train/run/unused_keys.h"
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
  if (config.objective.type == objectives::ObjectiveType::kReplacedToken) {
    train.fail(
        "lora",
        "is not supported by objective.type: replaced_token, whose generator is fully trained");
  }
  try {
    auto model = config.model;
    model.head = objectives::head_for(objectives::make_objective(config.objective)->head(), model);
    models::lora_layers(model, *config.train.lora);
  } catch (const std::invalid_argument& error) {
    train.fail("lora", str_cat("target_modules: ", error.what()));
  }
}

// Checks that model and data support freezing and early stopping.
void check_fine_tuning(const config::Section& train, const RunConfig& config) {
  if (train.is_documenting()) {
    return;
  }
  if (config.train.early_stopping.patience && config.data.evaluate.empty() && !config.data.folds) {
    train.fail("early_stopping", "needs evaluations, but there is no data.evaluate");
  }
  if (config.train.lora) {
    check_lora(train, config);
  }
  if (!config.train.freeze.empty()) {
    try {
      auto model = config.model;
      model.head =
          objectives::head_for(objectives::make_objective(config.objective)->head(), model);
      frozen_parameters(config.train.freeze, parameter_names(model, config.objective));
    } catch (const std::invalid_argument& error) {
      train.fail("freeze", error.what());
    }
  }
}

/// A student in training needs its teacher; one that is only evaluated does not.
void check_teacher(const config::Section& section, const RunConfig& config) {
  const auto& distill = config.objective.distill;
  if (config.objective.type != objectives::ObjectiveType::kDistill || section.is_documenting()) {
    return;
  }
  if (!std::filesystem::exists(distill.teacher)) {
    section.fail("teacher",
                 str_cat("'", distill.teacher, "' does not exist, must be a model directory"));
  }
  const auto width = models::read_model_config(models::model_directory(distill.teacher)).dim;
  if (distill.student_objective != objectives::StudentObjective::kClassify &&
      distill.alpha_cos > 0 && width != config.model.dim) {
    section.fail("alpha_cos",
                 str_cat(distill.alpha_cos, ", but the hidden sizes of student (", config.model.dim,
                         ") and teacher (", width, ") differ, allowed is 0"));
  }
}

/// The generator stored with init_from's discriminator fixes the shape: keys may only repeat it.
void match_generator_shape(const config::Section& objective, RunConfig& config) {
  if (config.objective.type != objectives::ObjectiveType::kReplacedToken || !config.init_from ||
      objective.is_documenting()) {
    return;
  }
  const auto directory = models::model_directory(*config.init_from);
  if (!models::has_generator(directory)) {
    return;
  }
  const auto stored = models::read_model_config(models::generator_directory(directory));
  const auto match = [&](const char* key, std::optional<int64_t>& wanted, int64_t found) {
    if (wanted.value_or(found) != found) {
      objective.fail("generator", str_cat(key, " ", *wanted, ", but that of init_from has ", found,
                                          ": omit it"));
    }
    wanted = found;
  };
  auto& generator = config.objective.replaced_token.generator;
  if (generator.size_ratio) {
    objective.fail("generator", "size_ratio: init_from brings its own generator: omit it");
  }
  match("dim", generator.dim, stored.dim);
  match("heads", generator.heads, stored.heads);
  match("width", generator.width, stored.width);
  match("layers", generator.layers, stored.layers);
}

/// Layers whose attention is recorded are not recomputed.
void check_recorded_attention(const config::Section& train, const RunConfig& config) {
  const bool is_recorded = config.objective.type == objectives::ObjectiveType::kDistill &&
                           config.objective.distill.alpha_attention > 0;
  if (is_recorded && !train.is_documenting() &&
      config.train.gradient_checkpointing == ActivationCheckpointing::kLayers) {
    train.fail("gradient_checkpointing",
               "layers has no effect with objective.alpha_attention, must be none");
  }
}

void check_baselines(const config::Section& train, RunConfig& config) {
  if (models::is_baseline(config.model.family) && !train.is_documenting() &&
      config.train.gradient_checkpointing == ActivationCheckpointing::kLayers) {
    train.fail("gradient_checkpointing", "layers, but this model has no layers, must be none");
  }
  if (!models::capabilities_of(config.model.family).has_matrix_products &&
      config.train.precision == Precision::kAuto) {
    config.train.precision = Precision::kFp32;
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
  config.objective = objectives::read_objective_options(objective);
  match_generator_shape(objective, config);
  if (const auto wrong = objectives::incompatibility(config.objective, config.model)) {
    objective.fail(wrong->key, wrong->message);
  }
  check_teacher(objective, config);
  if (config.objective.pair != data::PairTask::kNone && config.data.pack != data::Pack::kDocument) {
    data.fail("pack", "sentence pairs are drawn from documents, must be document");
  }
  auto train = root.section("train", {.help = "Training settings."});
  config.train = read_train_options(train);
  if (config.objective.classes.tune_threshold && !config.train.evaluate_every) {
    objective.fail("tune_threshold",
                   "train.evaluate_every is never, but tuning the threshold needs evaluations");
  }
  if (config.objective.classes.tune_threshold && config.data.evaluate.empty() &&
      !config.data.folds && !root.is_documenting()) {
    objective.fail("tune_threshold",
                   "there is no data.evaluate, but tuning the threshold needs evaluation data");
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
