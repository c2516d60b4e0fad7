#include "train/step/run_components.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "data/datasets/language_dataset.h"
#include "data/images/image_format.h"
#include "data/labels.h"
#include "data/tokenizer_options.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/generator.h"
#include "objectives/data/datasets.h"
#include "objectives/data/training_texts.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/lora_run.h"

namespace weft::train {

namespace {

data::DataItem task_item_of(const std::string& pattern) {
  data::DataItem item;
  item.path = pattern;
  item.files = glob_paths(pattern);
  return item;
}

/// Data options for training a tokenizer: whole texts if it needs to see their line feeds.
data::DataOptions tokenizer_data_options(const RunConfig& config) {
  const bool keeps_line_feeds = config.tokenizer.type == data::TokenizerType::kByteLevelBpe ||
                                config.tokenizer.type == data::TokenizerType::kCharacters;
  return keeps_line_feeds ? config.objective->store_options(config.data, config.model)
                          : config.data;
}

std::shared_ptr<const data::Tokenizer> train_tokenizer(const RunConfig& config) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  auto options = config.tokenizer;
  options.languages = config.objective->language_codes(config.data);
  log::set_progress_line("training the tokenizer");
  data::TokenizerReport report;
  const auto data_options = tokenizer_data_options(config);
  auto tokenizer = data::train_tokenizer(
      options, config.model.family->style, seed,
      [&](const data::TextVisitor& visit) {
        config.tokenizer.train_on == "data"
            ? config.objective->visit_training_texts({data_options, config.model}, visit)
            : data::visit_texts({task_item_of(config.tokenizer.train_on)}, data_options, visit);
      },
      report);
  log::set_progress_line("");
  log::info(
      str_cat("[tokenizer] trained ", with_commas(tokenizer->size()), " pieces on ",
              with_commas(report.sampled), " of ", with_commas(report.lines), " texts, ",
              format_bytes(static_cast<double>(report.bytes)),
              report.skipped_long > 0 ? str_cat(", ", report.skipped_long, " too long") : ""));
  for (const auto& warning : report.warnings) {
    log::warning("[tokenizer] " + warning);
  }
  return tokenizer;
}

/// The directory that the model comes from: the checkpoint or init_from; nullopt: it is new.
std::optional<std::string> initial_directory(const RunConfig& config,
                                             const std::optional<std::string>& checkpoint) {
  if (checkpoint || !config.init_from) {
    return checkpoint;
  }
  return models::model_directory(*config.init_from);
}

std::shared_ptr<const data::Tokenizer> tokenizer_of_model(const RunConfig& config) {
  auto tokenizer = data::load_tokenizer(models::model_directory(*config.init_from));
  if (config.tokenizer.file) {
    const auto named = data::load_tokenizer(*config.tokenizer.file);
    if (named->fingerprint() != tokenizer->fingerprint()) {
      throw UserError(str_cat("tokenizer.file: ", *config.tokenizer.file,
                              " is not the tokenizer of ", *config.init_from, ", omit it"));
    }
  }
  return tokenizer;
}

/// The head if it is of other classes than that of init_from, which is then not loaded.
std::set<models::Part> parts_for_other_classes(const models::ModelOptions& initial,
                                               const models::ModelOptions& wanted) {
  if (initial.head != wanted.head || initial.labels.empty() || wanted.labels.empty() ||
      initial.labels == wanted.labels) {
    return {};
  }
  log::warning(str_cat("[model] the classes of the data (", data::abbreviated(wanted.labels),
                       ") differ from those of init_from (", data::abbreviated(initial.labels),
                       "): the classification head is newly initialised"));
  return {models::Part::kHead};
}

models::LoadedModel make_model(const RunConfig& config,
                               const models::ModelOptions& options,
                               const std::optional<std::string>& checkpoint) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  const auto initial = initial_directory(config, checkpoint);
  if (!initial) {
    return {.model = models::make_model(options, seed),
            .missing_keys = {},
            .unexpected_keys = {},
            .loaded_tensors = {}};
  }
  const auto& directory = *initial;
  const auto new_parts =
      checkpoint ? std::set<models::Part>() : parts_for_other_classes(config.model, options);
  auto loaded = models::load_model(directory, options, seed, new_parts);
  if (checkpoint && !loaded.missing_keys.empty()) {
    throw UserError(str_cat(directory, ": missing keys: ", loaded.missing_keys.front()));
  }
  log::info(str_cat("[model] weights from ", directory));
  if (!loaded.missing_keys.empty()) {
    log::info("[model] missing keys, newly initialised: " + join(loaded.missing_keys));
  }
  if (!loaded.unexpected_keys.empty()) {
    log::info("[model] unexpected keys: " + join(loaded.unexpected_keys));
  }
  return loaded;
}

/// Prepares the generator of a replaced token detection model: that of the directory that the model
/// came from, or a new one.
void prepare_generator(const RunConfig& config,
                       const std::optional<std::string>& checkpoint,
                       models::Model& model) {
  const auto wanted = config.objective->generator_options(model.options());
  if (!wanted) {
    return;
  }
  const auto directory = initial_directory(config, checkpoint).value_or("");
  const bool is_stored = checkpoint || (config.init_from && models::has_generator(directory));
  if (is_stored) {
    models::load_generator(model, directory, config.objective->embedding_sharing());
  } else {
    models::make_generator(model, *wanted, static_cast<uint64_t>(config.run.seed),
                           config.objective->embedding_sharing());
  }
  const auto& shape = models::generator_of(model)->options();
  log::info(str_cat("[model] generator of ", shape.layers, " x ", shape.dim, ", ", shape.heads,
                    " heads, feed-forward ", shape.width,
                    is_stored ? ", weights from " + models::generator_directory(directory) : ""));
}

/// Image preprocessing: that of the initial model, unless the config overrides it.
std::shared_ptr<const data::Tokenizer> prepare_image_tokenizer(
    const RunConfig& config, const std::optional<std::string>& checkpoint) {
  const auto& vision = config.model.vision;
  std::optional<data::ImagePreprocessorConfig> base;
  if (const auto initial = initial_directory(config, checkpoint)) {
    base = data::read_preprocessor_config(*initial, vision.channels);
  }
  return data::make_image_processor(data::make_preprocessor_config(
      config.data.images, base, {vision.image_size, vision.grid(), vision.channels}));
}

/// Computes what the model takes from one pass over the training data.
void fit_model(const RunConfig& config, const RunComponents& components) {
  const auto& data = *components.data.train;
  const auto show = show_progress();
  const auto visit = [&](const auto& visitor) {
    constexpr int64_t kItemsPerReport = 1024;
    const auto count = data.size(0);
    for (int64_t item = 0; item < count; ++item) {
      const auto example = data.example(0, item);
      const auto tokens = config.objective->fitted_tokens(example);
      visitor(models::TrainingSequence{.ids = tokens,
                                       .targets = example.targets,
                                       .label = example.label,
                                       .source = example.source_ids});
      if (item % kItemsPerReport == 0) {
        show({.activity = "reading the training data",
              .fraction = static_cast<double>(item) / static_cast<double>(count)});
        throw_if_stopped("reading the training data");
      }
    }
    show({.activity = "estimating the model", .fraction = -1});
  };
  const auto& tokenizer = *components.tokenizer;
  components.model->fit(
      {.visit = visit,
       .directory = config.run.directory,
       .token = [&](int64_t id) { return tokenizer.target().piece(static_cast<int32_t>(id)); },
       .source_token = [&](int64_t id) { return tokenizer.piece(static_cast<int32_t>(id)); },
       .tokens_of =
           [](const std::string& directory) {
             const auto other = data::load_tokenizer(directory);
             std::vector<std::string> tokens;
             for (int32_t id = 0; id < other->size(); ++id) {
               tokens.push_back(other->piece(id));
             }
             return tokens;
           }});
  log::set_progress_line("");
}

/// Whether the model needs `fit`: it is new, or has a new head with parameters that are not
/// trained.
bool needs_fit(const RunConfig& config, const models::LoadedModel& loaded) {
  const auto& missing = loaded.missing_keys;
  const auto parameters = loaded.model->named_parameters();
  return !config.init_from || std::ranges::any_of(parameters, [&](const auto& parameter) {
    return !parameter.value().requires_grad() &&
           std::ranges::find(missing, parameter.key()) != missing.end();
  });
}

/// Says that the head of init_from is kept for data with a part of its classes.
void log_unused_classes(const std::string& init_from, const objectives::Datasets& data) {
  const auto classes = static_cast<int64_t>(data.labels.size());
  const auto unused = std::count(data.class_counts.begin(), data.class_counts.end(), 0);
  if (unused > 0 && unused < classes) {
    log::info(str_cat("[model] the data have ", classes - unused, " of the ", classes,
                      " classes of ", init_from, ": its classification head is kept"));
  }
}

}  // namespace

data::ProgressVisitor show_progress() {
  return [](const data::Progress& progress) {
    log::set_progress(progress.activity, progress.fraction);
  };
}

data::RowSelection rows_of_run(const RunConfig& config,
                               const std::optional<data::SplitRecord>& recorded) {
  return data::select_rows(
      config.data, static_cast<uint64_t>(config.run.seed),
      [&](const data::DataItem& item) {
        return config.objective->split_rows(item, config.data, config.model);
      },
      recorded);
}

SelectedConfig select_rows(const RunConfig& config,
                           const std::optional<data::SplitRecord>& recorded) {
  SelectedConfig result{.config = config, .record = {}};
  auto selection = rows_of_run(config, recorded);
  for (const auto& remark : selection.remarks) {
    log::info("[data] " + remark);
  }
  result.config.data = std::move(selection.data);
  result.record = std::move(selection.record);
  return result;
}

std::shared_ptr<const data::Tokenizer> prepare_tokenizer(
    const RunConfig& config, const std::optional<std::string>& checkpoint) {
  if (models::reads_images(config.model)) {
    return prepare_image_tokenizer(config, checkpoint);
  }
  if (checkpoint) {
    return data::load_tokenizer(*checkpoint);
  }
  if (config.init_from) {
    return tokenizer_of_model(config);
  }
  return config.tokenizer.file ? data::load_tokenizer(*config.tokenizer.file)
                               : train_tokenizer(config);
}

std::shared_ptr<models::Model> make_untrained_model(const RunConfig& config) {
  models::LoadedModel made{.model = models::make_uninitialized_model(config.model),
                           .missing_keys = {},
                           .unexpected_keys = {},
                           .loaded_tensors = {}};
  if (const auto generator = config.objective->generator_options(config.model)) {
    models::make_generator(*made.model, *generator, static_cast<uint64_t>(config.run.seed),
                           config.objective->embedding_sharing());
  }
  prepare_lora(config, made, std::nullopt);
  freeze(*made.model, config.train.freeze);
  return made.model;
}

objectives::Datasets prepare_data(const RunConfig& config,
                                  const models::ModelOptions& options,
                                  const std::shared_ptr<const data::Tokenizer>& tokenizer) {
  auto data = config.objective->make_datasets({.data = config.data,
                                               .model = options,
                                               .tokenizer = tokenizer,
                                               .seed = static_cast<uint64_t>(config.run.seed),
                                               .progress = show_progress()});
  log::set_progress_line("");
  for (const auto& remark : data.remarks) {
    log::info("[data] " + remark);
  }
  for (const std::string& warning : data.warnings) {
    log::warning("[data] " + warning);
  }
  return data;
}

RunComponents prepare_run(const RunConfig& whole_config,
                          const std::optional<std::string>& checkpoint,
                          const c10::Device& device,
                          std::shared_ptr<const data::Tokenizer> tokenizer) {
  const auto config = select_rows(whole_config).config;
  RunComponents components;
  components.objective = config.objective;
  components.tokenizer = tokenizer ? std::move(tokenizer) : prepare_tokenizer(config, checkpoint);
  auto options = complete_options(config, *components.tokenizer);
  components.data = prepare_data(config, options, components.tokenizer);
  log::info(str_cat("[data] ", with_commas(components.data.train->size(0)), " items per epoch"));
  if (!components.data.labels.empty() || options.is_regression) {
    options.labels = components.data.labels;
  }
  components.objective->init_from_data(components.data);
  if (config.init_from && options.labels == config.model.labels) {
    log_unused_classes(*config.init_from, components.data);
  }
  const auto loaded = make_model(config, options, checkpoint);
  components.model = loaded.model;
  if (const auto initial = initial_directory(config, checkpoint)) {
    components.generation_config = models::read_generation_text(*initial);
  }
  if (!models::is_known_to_transformers(components.model->options())) {
    log::info(
        "[model] transformers has no model with these layers; config.json describes it under "
        "a model_type of Weft");
  }
  if (!checkpoint && config.pretrained_embeddings) {
    load_pretrained_embeddings(*config.pretrained_embeddings, *components.tokenizer,
                               *components.model);
  }
  if (!checkpoint && needs_fit(config, loaded)) {
    fit_model(config, components);
  }
  prepare_generator(config, checkpoint, *components.model);
  components.lora = prepare_lora(config, loaded, checkpoint);
  freeze(*components.model, config.train.freeze);
  components.model->to(device);
  return components;
}

data::DataLoaderOptions loader_options(const RunConfig& config) {
  data::DataLoaderOptions options;
  options.seed = static_cast<uint64_t>(config.run.seed);
  options.shuffles = config.data.shuffle;
  options.batch_tokens = config.train.batch_tokens.value_or(0);
  options.batch_sequences = config.train.batch_sequences.value_or(0);
  options.micro_batch_tokens = config.train.micro_batch_tokens.value_or(0);
  options.workers = config.data.workers;
  if (config.train.duration.unit == config::DurationUnit::kEpochs) {
    options.epochs = static_cast<int64_t>(std::ceil(config.train.duration.amount));
  }
  return options;
}

}  // namespace weft::train
