#include <set>
#include <utility>

#include "base/string_util.h"
#include "config/reference.h"
#include "models/config/family_definition.h"
#include "objectives/objective_registry.h"
#include "train/run/run_config.h"

namespace weft::train {

namespace {

objectives::TrainingDefaults family_defaults_of(models::Family family,
                                                objectives::TrainingDefaults defaults) {
  if (const auto lr = models::capabilities_of(family).default_lr) {
    defaults.task = std::string(models::word_of(family));
    defaults.batch_sequences = 32;
    defaults.lr = lr;
  }
  return defaults;
}

/// Rows of data.train; nullopt: not known before the run, or the files are too large to count them
/// here. Mistakes in the data are reported when they are read for training.
std::optional<int64_t> count_examples(const RunConfig& config) {
  constexpr int64_t kMostBytes = 64 << 20;
  const auto bytes = training_bytes(config.data);  // 0: a pipe, which can be read only once
  if (!config.objective->traits(config.model).reads_rows || bytes == 0 || bytes > kMostBytes) {
    return std::nullopt;
  }
  std::size_t rows = 0;
  try {
    for (const auto& item : config.data.train) {
      rows += config.objective->split_rows(item, config.data, config.model).rows.size();
    }
  } catch (const UserError&) {
    return std::nullopt;
  }
  return rows > 0 ? std::optional(static_cast<int64_t>(rows)) : std::nullopt;
}

/// The keys of `train:`, each with its default by task.
config::Declarations train_keys_of_all_tasks() {
  std::vector<objectives::TrainingDefaults> tasks = {
      {.task = "in general"},
      objectives::labelled_training_defaults({.has_weights = true}),
      objectives::labelled_training_defaults({.has_weights = true, .has_adapters = true})};
  for (const auto& [name, family] : models::families()) {
    if (auto defaults = family_defaults_of(family, {}); !defaults.task.empty()) {
      tasks.push_back(std::move(defaults));
    }
  }
  std::vector<config::TypeDeclarations> types;
  for (const auto& defaults : tasks) {
    types.push_back({defaults.task, config::collect_declarations([&](config::Section section) {
                       read_train_options(section, defaults);
                     })});
  }
  return config::merge_types(types);
}

/// `fine-tuning defaults: 32 sequences per step, lr 5e-05`: those that the config does not give.
std::string words_of_defaults(const config::Section& train,
                              const TrainOptions& options,
                              const objectives::TrainingDefaults& defaults) {
  std::vector<std::string> words;
  if (!train.has("batch_sequences") && !train.has("batch_tokens")) {
    words.push_back(options.batch_sequences
                        ? str_cat(*options.batch_sequences, " sequences per step")
                        : str_cat(*options.batch_tokens, " tokens per step"));
  }
  if (!train.has("optimizer.lr")) {
    words.push_back("lr " + shortest_repr(options.optimizer.lr));
  }
  if (!train.has("schedule.warmup")) {
    words.push_back(defaults.warmup ? "warm-up " + config::to_string(*defaults.warmup)
                                    : "no warm-up");
  }
  if (!train.has("duration")) {
    words.push_back(config::to_string(options.duration));
  }
  return words.empty()
             ? ""
             : str_cat(defaults.task, defaults.task.empty() ? "" : " ", "defaults: ", join(words));
}

/// A model that is estimated in one pass has no use for the keys of training steps: those given are
/// errors, the others are left out of the resolved config.
void check_counted(config::Section root, config::Section& train, const RunConfig& config) {
  const auto type = str_cat("model.type: ", models::word_of(config.model.family));
  if (config.init_from) {
    root.report("init_from", str_cat(type,
                                     " cannot be trained further: the counts of its training "
                                     "data are not stored; train on all data at once"));
  }
  const bool is_classifier =
      config.objective && config.objective->head(config.model) == models::Head::kSequence;
  if (!is_classifier) {
    for (const auto* key : {"model.class_prior", "model.temperature"}) {
      root.reject_unused(key, "has no effect here, only with objective.type: classify");
    }
  }
  const std::set<std::string> used = {"evaluate_every", "batch_tokens", "batch_sequences",
                                      "threads",        "log_every",    "best_by"};
  for (const auto& key : train_keys_of_all_tasks().keys) {
    if (used.contains(key.path.substr(0, key.path.find('.')))) {
      continue;
    }
    if (key.type == config::KeyType::kSection) {
      train.omit(key.path);  // whether it is given, its keys say
    } else {
      train.reject_unused(key.path, str_cat("has no effect with ", type,
                                            ", which is estimated in one pass over the data, "
                                            "without gradients"));
    }
  }
}

}  // namespace

void read_train_section(const config::Section& root, config::Section& train, RunConfig& config) {
  if (train.is_documenting()) {
    train.declare(train_keys_of_all_tasks());
    return;
  }
  objectives::TrainingDefaults defaults;
  if (config.objective && is_model_known(root)) {
    const bool is_fine_tuning = config.init_from.has_value();
    const bool needs_examples = is_fine_tuning && !train.has("duration") && root.is_valid("data") &&
                                !config.data.train.empty();
    defaults = family_defaults_of(
        config.model.family,
        config.objective->training_defaults(
            {.has_weights = is_fine_tuning,
             .has_adapters = train.has("lora.rank"),
             .dim = config.model.dim,
             .examples = needs_examples ? count_examples(config) : std::nullopt}));
  }
  if (is_model_known(root) && models::capabilities_of(config.model.family).is_counted) {
    defaults.duration = config::Duration{.amount = 1, .unit = config::DurationUnit::kEpochs};
    config.train = read_train_options(train, defaults);
    check_counted(root, train, config);
    return;
  }
  config.train = read_train_options(train, defaults);
  config.defaults = words_of_defaults(train, config.train, defaults);
}

}  // namespace weft::train
