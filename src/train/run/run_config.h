#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "data/data_options.h"
#include "data/tokenizer_options.h"
#include "models/config/options.h"
#include "objectives/objective.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// A whole config file, read and checked.
struct RunConfig {
  std::optional<std::string> init_from;  // as written: a checkpoint, run or Hugging Face directory
  std::optional<std::string> pretrained_embeddings;  // path of word vectors
  models::ModelOptions model;  // with init_from: its config.json, overridden by `model:`
  data::TokenizerOptions
      tokenizer;  // with init_from: only `file` counts, which must be the same tokenizer
  data::DataOptions data;
  /// Made when the config is read; a run that is prepared takes what it needs from its data.
  std::shared_ptr<objectives::Objective> objective;
  TrainOptions train;
  RunOptions run;
  std::string defaults;  // the main defaults of `train:` that it takes, in words; empty: none
  std::vector<config::GridAxis> grid;  // keys and their values, for several runs
  std::string resolved;  // every key with its final value; YAML that parses back to the same
};

/// Reads every section and checks their consistency. Loads only the config.json of init_from, and
/// small data of a fine-tuning run without train.duration, whose rows are counted. Throws
/// config::Error with a line for each mistake.
RunConfig read_run_config(const config::Document& document);

/// The same, and also checks what a run would reject before its first step, without writing
/// anything: the tables of labels are read, of running text the beginning; tokenizers and headers
/// of weights are loaded.
RunConfig check_run_config(const config::Document& document);

/// Reports the mistakes that check_run_config finds in a config that was read.
void check_preparation(const config::Section& root, const RunConfig& config);

/// Whether the options of the model were read without an error.
bool is_model_known(const config::Section& root);

/// Bytes of the files of data.train, including those in directories.
int64_t training_bytes(const data::DataOptions& data);

/// The model's options with the head that the objective needs.
models::ModelOptions trained_model(const RunConfig& config);

/// Declares every key on `root`, which must be a describing section: used for the reference page,
/// `config explain` and the schema.
void describe_run_config(config::Section root);

/// Rejects options of `data:` and `train:` that have no effect in this configuration, for example:
/// options of running text for labelled texts, metric_for_best_model without an evaluation,
/// learning rates of parts that do not exist or are frozen. Checks values rather than which keys
/// were written, since a resolved config contains all keys. Throws config::Error.
void reject_unused_keys(const config::Section& data,
                        const config::Section& train,
                        const RunConfig& config);

/// Reads `train:`, whose defaults depend on the model and the objective. Throws config::Error.
void read_train_section(const config::Section& root, config::Section& train, RunConfig& config);

}  // namespace weft::train
