// Mistakes of a config that only its files show, found without writing anything.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "data/data_loader.h"
#include "data/rows/parallel_reader.h"
#include "data/text/text_source.h"
#include "metrics/metric.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/weights/weights.h"
#include "train/optimizer/train_options.h"
#include "train/run/device.h"
#include "train/run/run_config.h"
#include "train/run/run_directory.h"
#include "train/step/evaluation_driver.h"
#include "train/step/run_components.h"

namespace weft::train {

namespace {

/// Reports the UserError that `check` throws, at its own dotted key or at `key`.
template <class Check>
void check_part(const config::Section& root, std::string_view key, const Check& check) {
  try {
    check();
  } catch (const UserError& error) {
    root.report_at(key, error.what());
  }
}

/// The tokenizer of the run; nullptr if it is still to be trained.
std::shared_ptr<const data::Tokenizer> stored_tokenizer(const config::Section& root,
                                                        const RunConfig& config) {
  std::shared_ptr<const data::Tokenizer> tokenizer;
  if (config.init_from || config.tokenizer.file || models::reads_images(config.model)) {
    check_part(root, config.init_from ? "init_from" : "tokenizer.file", [&] {
      auto loaded = prepare_tokenizer(config, std::nullopt);
      complete_options(config, *loaded);
      tokenizer = std::move(loaded);
    });
  } else {
    check_part(root, "tokenizer",
               [&] { data::check_trainable(config.tokenizer, config.model.family->style); });
  }
  return tokenizer;
}

void check_weights(const config::Section& root, const RunConfig& config) {
  check_part(root, "init_from",
             [&] { models::SafetensorsShards(models::model_directory(*config.init_from)); });
}

void check_length(const config::Section& root, const RunConfig& config) {
  const objectives::DatasetInputs inputs{
      .data = config.data, .model = config.model, .tokenizer = nullptr};
  check_part(root, "data.length", [&] { inputs.length(); });
}

bool has_text(const data::DataItem& item, const data::DataOptions& options) {
  data::TextReader reader(item, options);
  data::TextLine line;
  return reader.next(line);
}

bool has_text_pair(const data::DataItem& item) {
  data::ParallelReader reader(item);
  data::TextPairView pair;
  bool is_found = false;
  while (!is_found && reader.next(pair)) {
    is_found = !pair.source.empty() && !pair.target.empty();
  }
  return is_found;
}

/// Of running text and of text pairs only the beginning is read: there must be any.
void check_texts(const std::vector<data::DataItem>& items,
                 const RunConfig& config,
                 const models::ModelOptions& options) {
  const bool has_pairs = config.objective->reads_pairs(config.data, options);
  const auto text_options = config.objective->store_options(config.data, options);
  std::vector<std::string> names;
  bool has_any = items.empty();
  for (const auto& item : items) {
    has_any = (has_pairs ? has_text_pair(item) : has_text(item, text_options)) || has_any;
    names.push_back(item.path);
  }
  if (!has_any) {
    throw UserError(
        str_cat(join(names), ": no ", has_pairs ? "text pairs" : "text", " to train on"));
  }
}

/// A tokenizer for reading tables: which tokens their texts have does not matter.
std::shared_ptr<const data::Tokenizer> any_tokenizer() {
  data::TokenizerReport report;
  return data::train_tokenizer(
      {.vocab_size = 16}, data::TokenizerTemplate::kBert, 0,
      [](const data::TextVisitor& visit) { visit("a"); }, report);
}

/// The key of the item that has the file with which an error begins.
std::string key_of_item(const data::DataOptions& data, std::string_view error) {
  for (const auto& [key, items] :
       {std::pair("data.train.", &data.train), std::pair("data.evaluate.", &data.evaluate)}) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      for (const auto& file : (*items)[i].files) {
        if (error.starts_with(file) && error.substr(file.size()).find_first_of(":,/ ") == 0) {
          return str_cat(key, i);
        }
      }
    }
  }
  return "data.train";
}

/// Reads tables of labels or images whole, and gives the objective what it takes from them.
objectives::Datasets read_tables(const config::Section& root,
                                 const RunConfig& config,
                                 const models::ModelOptions& options,
                                 const std::shared_ptr<const data::Tokenizer>& tokenizer) {
  auto files = rows_of_run(config).data;
  if (!root.is_valid("data.length")) {
    files.length.reset();
  }
  auto data = config.objective->make_datasets({.data = files,
                                               .model = options,
                                               .tokenizer = tokenizer ? tokenizer : any_tokenizer(),
                                               .seed = static_cast<uint64_t>(config.run.seed),
                                               .progress = show_progress()});
  if (!config.objective->teacher_options(options)) {  // loading a teacher takes long
    config.objective->init_from_data(data);
  }
  return data;
}

/// Reports a warm-up that is longer than the run, if the length of an epoch is known.
void check_warmup(const config::Section& root,
                  const RunConfig& config,
                  const objectives::Datasets& data,
                  bool has_tokenizer) {
  const bool is_counted = models::capabilities_of(config.model.family).is_counted;
  if (is_counted || !(has_tokenizer || config.train.batch_sequences)) {
    return;
  }
  auto options = loader_options(config);
  options.workers = 0;
  check_part(root, "train.schedule.warmup", [&] {
    data::DataLoader loader(data.train, options);
    check_run_length(config.train, [&] { return loader.steps_per_epoch(0); });
  });
}

/// Reports mistakes in the data. Returns the tables, of texts only their labels; nullopt: the data
/// are wrong.
std::optional<objectives::Datasets> check_data(
    const config::Section& root,
    const RunConfig& config,
    const models::ModelOptions& options,
    const std::shared_ptr<const data::Tokenizer>& tokenizer) {
  const bool has_pairs = config.objective->reads_pairs(config.data, options);
  if (!has_pairs && !config.objective->traits(options).reads_raw_text) {
    try {
      return read_tables(root, config, options, tokenizer);
    } catch (const UserError& error) {
      root.report_at(key_of_item(config.data, error.what()), error.what());
      return std::nullopt;
    }
  }
  check_part(root, "data.train", [&] { check_texts(config.data.train, config, options); });
  check_part(root, "data.evaluate", [&] { check_texts(config.data.evaluate, config, options); });
  if (!root.is_valid("data.train") || !root.is_valid("data.evaluate")) {
    return std::nullopt;
  }
  objectives::Datasets texts;
  texts.labels = options.labels;
  return texts;
}

/// The metrics of an evaluation are known only after one, so a small model evaluates a made-up
/// example. Of a large model, which would take long to build, only the name is checked, before.
void check_best_by(const config::Section& root,
                   const RunConfig& config,
                   models::ModelOptions options) {
  constexpr int64_t kMostFeatures = int64_t{1} << 26;  // layers * dim^2: about 800 M parameters
  constexpr int64_t kLength = 16;
  const auto& metric = *config.train.metric_for_best_model;
  check_part(root, "train.best_by", [&] {
    if (options.layers * options.dim * options.dim > kMostFeatures) {
      return;
    }
    const at::NoGradGuard no_grad;
    const auto model = models::make_model(options, 0);
    data::Batch batch;
    batch.add(0, config.objective->sample_example(options, std::min(kLength, options.length)));
    const auto evaluation = config.objective->evaluation();
    evaluation->add(*model, batch, batching::context_of(batch, at::kCPU));
    check_metric(metric, *evaluation);
  });
}

/// Options of the model with the labels that it has, not those of an earlier head.
models::ModelOptions options_of_run(const RunConfig& config) {
  auto options = config.model;
  set_head(*config.objective, config.data, options);
  return options;
}

bool has_metric_of_evaluation(const RunConfig& config) {
  const auto& metric = config.train.metric_for_best_model;
  return metric && !selects_by_tests(config.train) &&
         !config.objective->teacher_options(config.model);
}

}  // namespace

void check_preparation(const config::Section& root, const RunConfig& config) {
  if (root.is_valid("run")) {
    check_part(root, "run.directory", [&] { check_writable(config.run.directory); });
    check_part(root, "run.device", [&] { choose_device(config.run.device); });
  }
  const auto& metric = config.train.metric_for_best_model;
  const bool is_train_valid = root.is_valid("train");
  if (is_train_valid && metric && !selects_by_tests(config.train)) {
    check_part(root, "train.best_by",
               [&] { metrics::greater_is_better(*metric, "train.best_by"); });
  }
  if (!is_model_known(root)) {
    return;
  }
  if (config.init_from) {
    check_weights(root, config);
  }
  const bool are_files_known = root.is_valid("data") && root.is_valid("objective");
  if (root.is_valid("data.length") && !models::reads_images(config.model)) {
    check_length(root, config);
  }
  if (!are_files_known) {
    return;
  }
  const auto tokenizer = root.is_valid("tokenizer") && root.is_valid("init_from")
                             ? stored_tokenizer(root, config)
                             : nullptr;
  std::optional<models::ModelOptions> sized;
  if (root.is_valid("tokenizer") && root.is_valid("init_from")) {
    check_part(root, "model", [&] {
      sized = options_without_data(config);
      const auto model = models::make_uninitialized_model(*sized);
      if (config.pretrained_embeddings && root.is_valid("pretrained_embeddings")) {
        check_part(root, "pretrained_embeddings",
                   [&] { check_pretrained_embeddings(*config.pretrained_embeddings, *model); });
      }
    });
  }
  auto options = options_of_run(config);
  const auto data = check_data(root, config, options, tokenizer);
  if (!data || !is_train_valid) {
    return;
  }
  if (data->train) {
    check_warmup(root, config, *data, tokenizer != nullptr);
  }
  if (sized && root.is_valid("model") && root.is_valid("train.best_by") &&
      has_metric_of_evaluation(config)) {
    sized->labels = data->labels.empty() ? sized->labels : data->labels;
    check_best_by(root, config, *std::move(sized));
  }
}

}  // namespace weft::train
