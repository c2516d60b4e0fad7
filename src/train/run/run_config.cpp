#include "train/run/run_config.h"

#include <filesystem>
#include <stdexcept>

#include "base/string_util.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/directory.h"
#include "objectives/objective_registry.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/parameter_groups.h"
#include "train/sweep/sweep_grid.h"

namespace weft::train {

namespace {

std::optional<models::ModelOptions> read_init_from(const config::Section& root,
                                                   const std::string& init_from) {
  try {
    return models::read_model_config(models::model_directory(init_from));
  } catch (const UserError& error) {
    root.report("init_from", error.what());
  }
  return std::nullopt;
}

/// Reads the section after the data, on whose size its defaults depend if it is omitted.
void read_tokenizer(config::Section& root, config::Section& section, RunConfig& config) {
  const bool is_given = root.has("tokenizer") || root.is_documenting();
  data::TokenizerOptions defaults;
  if (!is_given) {
    defaults =
        data::default_tokenizer_options(config.model.family->style, training_bytes(config.data));
  }
  section.attempt([&] { config.tokenizer = data::read_tokenizer_options(section, defaults); });
  if (config.tokenizer.type == data::TokenizerType::kFastText && is_model_known(root) &&
      !models::is_baseline(config.model.family)) {
    section.report("type",
                   "fasttext gives words and n-grams in no order, for model.type fasttext "
                   "or bag_of_words");
  }
  const bool is_used = !config.init_from || config.tokenizer.file;
  if (!is_used && section.is_valid() && root.is_valid("init_from")) {
    root.report("tokenizer", "init_from brings its own tokenizer: omit this section");
  }
}

void check_lora(const config::Section& train, const RunConfig& config) {
  if (!config.init_from) {
    train.report("lora", "LoRA needs existing weights: init_from is missing");
    return;
  }
  if (config.objective->generator_options(config.model)) {
    train.report("lora", str_cat("is not supported by objective.type: ", config.objective->name(),
                                 ", whose generator is fully trained"));
  }
  try {
    models::lora_layers(trained_model(config), *config.train.lora);
  } catch (const std::invalid_argument& error) {
    train.report("lora", str_cat("target_modules: ", error.what()));
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
    train.report("freeze", error.what());
    return;
  }
  try {
    parameter_groups(groups, names, frozen);
  } catch (const std::invalid_argument& error) {
    train.report("optimizer", error.what());
  }
}

// Checks that the model supports freezing and adapters.
void check_fine_tuning(const config::Section& train, const RunConfig& config) {
  if (config.train.lora) {
    check_lora(train, config);
  }
  check_parameter_patterns(train, config);
}

/// Layers whose attention is recorded are not recomputed; baselines have no layers.
void check_gradient_checkpointing(const config::Section& train, const RunConfig& config) {
  if (config.train.gradient_checkpointing != ActivationCheckpointing::kLayers) {
    return;
  }
  if (config.objective->traits(config.model).records_attention) {
    train.report("gradient_checkpointing",
                 "layers has no effect with objective.alpha_attention, must be none");
  }
  if (models::has_reversible_layers(config.model)) {
    train.report("gradient_checkpointing",
                 "layers has no effect on reversible layers, must be none");
  }
  if (models::is_baseline(config.model.family)) {
    train.report("gradient_checkpointing", "layers, but this model has no layers, must be none");
  }
}

void read_objective_of_run(config::Section& root, config::Section& section, RunConfig& config) {
  section.attempt([&] { config.objective = objectives::read_objective(section); });
  if (root.is_documenting() || !is_model_known(root) || !section.is_valid()) {
    return;
  }
  if (config.init_from) {
    section.attempt([&] {
      config.objective->init_from_model(section, models::model_directory(*config.init_from));
    });
  }
  if (const auto wrong = objectives::find_incompatibility(*config.objective, config.model)) {
    section.report(wrong->key, wrong->message);
  }
  const auto head = config.objective->head(config.model);
  if (root.has("model.output") && config.model.layer_types.output &&
      !models::definition_of(head).predicts_words() &&
      !models::capabilities_of(config.model.family).has_class_output) {
    root.report("model.output", "has no effect here, only if the model predicts tokens");
  }
  if (const auto& output = config.model.layer_types.output;
      output && models::output_types().at(output->type).needs_histories &&
      !config.objective->traits(config.model).is_left_to_right) {
    root.report("model.output.type",
                str_cat(output->type, " is only possible with ", "objective.type: causal"));
  }
  if (config.model.early_exit && !config.objective->traits(config.model).trains_all_classifiers) {
    root.report("model.early_exit", "is only possible with objective.type: classify or regress");
  }
  if (config.model.document) {
    const auto& definition = models::definition_of(head);
    if (!definition.classifies_sequences) {
      root.reject_unused("model.document.pooling",
                         "has no effect here, only with objective.type: classify or regress");
    }
    if (!definition.predicts_tokens) {
      root.reject_unused("model.document.decoder_layers",
                         "has no effect here, only with objective.type: masked_sentence");
    }
  }
  if (config.model.early_exit && config.train.lora) {
    root.report("model.early_exit", "is not possible with train.lora");
  }
  if (root.has("model.classifier_pooling") && config.model.layer_types.pooling &&
      !models::definition_of(head).classifies_sequences) {
    root.report("model.classifier_pooling",
                "has no effect here, only with objective.type: classify");
  }
}

/// The sections of a config that are checked against each other.
struct RunSections {
  const config::Section& root;
  const config::Section& data;
  const config::Section& objective;
  const config::Section& train;
};

/// Checks what the sections say of each other, as far as they are valid.
void check_sections(const RunSections& sections, const RunConfig& config) {
  const auto& [root, data, objective, train] = sections;
  const bool is_evaluated = config.data.has_evaluation();
  if (config.train.early_stopping.patience && !is_evaluated && data.is_valid()) {
    train.report("early_stopping", "needs evaluations, but there is no data.evaluate");
  }
  if (!is_model_known(root) || !objective.is_valid()) {
    return;
  }
  if (data.is_valid()) {
    objective.attempt([&] {
      config.objective->check_training({.objective_section = objective,
                                        .data_section = data,
                                        .model = config.model,
                                        .data = config.data,
                                        .is_evaluated = config.train.evaluate_every.has_value()});
    });
  }
  if (train.is_valid()) {
    check_fine_tuning(train, config);
    check_gradient_checkpointing(train, config);
  }
  reject_unused_keys(data, train, config);
}

void read_pretrained_embeddings(config::Section& root, RunConfig& config) {
  auto& path = config.pretrained_embeddings;
  root.read(
      "pretrained_embeddings", path,
      {.help = "Word vectors that the word embeddings start from: a text file of GloVe, "
               "word2vec or fastText (.vec), optionally .gz. Tokens that it does not have are "
               "initialised at random; train.freeze keeps embeddings as they are.",
       .only_if = "no init_from"});
  if (!path || root.is_documenting()) {
    return;
  }
  if (config.init_from) {
    root.report("pretrained_embeddings", "init_from brings its own embeddings: omit this key");
  } else if (!std::filesystem::exists(*path)) {
    root.report("pretrained_embeddings", str_cat("'", *path, "': no such file"));
  }
}

void read_model(config::Section& root, RunConfig& config) {
  const bool is_new = !config.init_from && root.is_valid("init_from");
  std::optional<models::ModelOptions> base;
  if (config.init_from) {
    base = read_init_from(root, *config.init_from);
  } else if (is_new && !root.is_documenting() && !root.has("model")) {
    root.report("model", "missing, required unless init_from is given");
  }
  auto model = root.section("model", {.help = "Model architecture: a preset, or all sizes."});
  if (is_new || base) {
    model.attempt(
        [&] { config.model = models::read_model_options(model, base ? &*base : nullptr); });
  }
}

/// The section of the tokenizer, unless the model brings its own or reads images.
std::optional<config::Section> tokenizer_section(config::Section& root, const RunConfig& config) {
  const bool is_given = root.has("tokenizer");
  const bool is_of_images = is_model_known(root) && models::reads_images(config.model);
  if (is_of_images && !root.is_documenting()) {
    if (is_given) {
      root.report("tokenizer", "an image model has no tokenizer: omit this section");
    }
    return std::nullopt;
  }
  if (config.init_from && !is_given) {
    return std::nullopt;
  }
  return root.section(
      "tokenizer",
      {.help = "Tokenizer to train or load. With init_from the model's tokenizer is used. If this "
               "section is omitted, a tokenizer that fits the model family is trained, with a "
               "vocabulary that fits the size of the data.",
       .only_if = "no init_from"});
}

void read_all(config::Section root, RunConfig& config) {
  root.read("init_from", config.init_from,
            {.help = "Checkpoint, run directory or Hugging Face directory to initialise weights "
                     "and tokenizer from. null: random initialisation."});
  read_pretrained_embeddings(root, config);
  read_model(root, config);
  auto tokenizer = tokenizer_section(root, config);
  auto data = root.section("data", {.help = "Training and evaluation data.", .is_required = true});
  data.attempt([&] { config.data = data::read_data_options(data); });
  if (tokenizer) {
    read_tokenizer(root, *tokenizer, config);
  }
  auto objective = root.section("objective", {.help = "Training objective.", .is_required = true});
  read_objective_of_run(root, objective, config);
  auto train = root.section(
      "train",
      {.help =
           "Training settings. The defaults of fine-tuning are those of runs with init_from "
           "and objective.type: classify, regress or tag; with model.dim below 512 their lr is "
           "1e-4. Their duration is 3 epochs, 5 with fewer than 10,000 examples and 10 with fewer "
           "than 2,000; files of more than 64 MB are not counted."});
  train.attempt([&] { read_train_section(root, train, config); });
  if (!root.is_documenting()) {
    check_sections({.root = root, .data = data, .objective = objective, .train = train}, config);
  }
  auto run = root.section("run", {.help = "Run directory, random seed and device."});
  run.attempt([&] { config.run = read_run_options(run); });
  root.attempt([&] {
    root.read_grid("grid", config.grid,
                   {.help = "Grid search: config keys with lists of values, as in "
                            "`{train.optimizer.lr: [1e-5, 5e-5]}`. `weft train` starts one run for "
                            "every combination."});
    check_grid(root, config.grid);
  });
  root.reject_unread();
}

}  // namespace

int64_t training_bytes(const data::DataOptions& data) {
  int64_t bytes = 0;
  for (const auto& item : data.train) {
    for (const auto* files : {&item.files, &item.target_files}) {
      for (const auto& file : *files) {
        bytes += bytes_of_files(file);
      }
    }
  }
  return bytes;
}

bool is_model_known(const config::Section& root) {
  return root.is_valid("init_from") && root.is_valid("model");
}

models::ModelOptions trained_model(const RunConfig& config) {
  auto model = config.model;
  model.head = config.objective->head(model);
  return model;
}

RunConfig read_run_config(const config::Document& document) {
  RunConfig config;
  document.read([&](config::Section root) { read_all(std::move(root), config); });
  config.resolved = document.resolved();
  return config;
}

RunConfig check_run_config(const config::Document& document) {
  RunConfig config;
  document.read([&](config::Section root) {
    read_all(root, config);
    check_preparation(root, config);
  });
  config.resolved = document.resolved();
  return config;
}

void describe_run_config(config::Section root) {
  RunConfig config;
  read_all(std::move(root), config);
}

}  // namespace weft::train
