#pragma once

#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "data/data_loader.h"
#include "data/row_selection.h"
#include "data/tokenizer.h"
#include "models/adapters/lora.h"
#include "models/model.h"
#include "objectives/objective.h"
#include "train/run/run_config.h"

namespace weft::train {

/// Objective, tokenizer, data and model of a run.
struct RunComponents {
  std::shared_ptr<objectives::Objective> objective;  // the config's
  std::shared_ptr<const data::Tokenizer> tokenizer;
  objectives::Datasets data;
  std::shared_ptr<models::Model> model;  // on its device, in fp32
  std::optional<models::Lora> lora;      // its adapters
  std::string generation_config = {};    // of the model that the run starts from, as JSON
};

/// A config whose data items read the rows that data.split or data.folds chose.
struct SelectedConfig {
  RunConfig config;
  std::optional<data::SplitRecord> record;  // of data.split
};

/// The rows of the config's data, if they are to be divided. Throws data::Error.
data::RowSelection rows_of_run(const RunConfig& config,
                               const std::optional<data::SplitRecord>& recorded = {});

/// Chooses the rows of the config's data, if they are to be divided, and logs how many.
/// `recorded`: rows of an earlier split to use again. Throws data::Error.
SelectedConfig select_rows(const RunConfig& config,
                           const std::optional<data::SplitRecord>& recorded = {});

/// Prepares tokenizer, data and model of a run, and logs what was loaded. `checkpoint`: the one to
/// resume from, whose tokenizer and weights are used. `tokenizer`: if it was prepared before.
/// Throws UserError, Stopped.
RunComponents prepare_run(const RunConfig& config,
                          const std::optional<std::string>& checkpoint,
                          const c10::Device& device,
                          std::shared_ptr<const data::Tokenizer> tokenizer = nullptr);

/// Prepares the tokenizer only.
std::shared_ptr<const data::Tokenizer> prepare_tokenizer(
    const RunConfig& config, const std::optional<std::string>& checkpoint);

/// Sets the vocabulary size of a new model so that all ids of the tokenizer fit.
void set_vocabulary_size(const data::Tokenizer& tokenizer, models::ModelOptions& options);

/// Throws UserError, naming the directory `location`, if the tokenizer does not match the model.
void check_vocabulary(const std::string& location,
                      const data::Tokenizer& tokenizer,
                      const models::ModelOptions& options);

/// Sets the head that the objective needs, and what its outputs mean.
void set_head(const objectives::Objective& objective,
              const data::DataOptions& data,
              models::ModelOptions& options);

/// Model options of the config, completed from tokenizer and data: vocabulary, ids, labels.
models::ModelOptions complete_options(const RunConfig& config, const data::Tokenizer& tokenizer);

/// Datasets of the config for a model of these options, whose remarks and warnings are logged.
objectives::Datasets prepare_data(const RunConfig& config,
                                  const models::ModelOptions& options,
                                  const std::shared_ptr<const data::Tokenizer>& tokenizer);

/// Model options of the config, completed without reading data: the vocabulary of a tokenizer that
/// is still to be trained has the size it may have at most, and unknown classes are two.
models::ModelOptions options_without_data(const RunConfig& config);

/// Builds the model of `config.model` with generator, adapters and frozen parameters as in
/// prepare_run, but undefined weights. Throws UserError.
std::shared_ptr<models::Model> make_untrained_model(const RunConfig& config);

/// Token budget of a step and seed of the data order, from the config.
data::DataLoaderOptions loader_options(const RunConfig& config);

/// Shows preparation steps on the progress line.
data::ProgressVisitor show_progress();

/// Sets the word embeddings of the tokens that are words of the file, the first of equal ones. Logs
/// how many these are. Throws UserError: another number of dimensions, no word in common, a model
/// without word embeddings; formats::Error.
void load_pretrained_embeddings(const std::string& path,
                                const data::Tokenizer& tokenizer,
                                models::Model& model);

/// Throws what load_pretrained_embeddings would after reading the first word.
void check_pretrained_embeddings(const std::string& path, const models::Model& model);

}  // namespace weft::train
