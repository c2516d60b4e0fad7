#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "data/batch.h"
#include "data/data_options.h"
#include "data/label_form.h"
#include "data/split_rows.h"
#include "data/tokenizer_options.h"
#include "models/config/options.h"
#include "models/model.h"
#include "objectives/data/datasets.h"
#include "objectives/data/training_texts.h"
#include "objectives/evaluation/decision_threshold.h"
#include "objectives/evaluation/evaluation.h"
#include "objectives/incompatibility.h"
#include "objectives/training_defaults.h"

namespace weft::objectives {

/// What other code must know of an objective, of a model of given options.
struct ObjectiveTraits {
  bool reads_raw_text = false;          // documents of running text, split into sequences
  bool is_sequence_level = false;       // one prediction for each text of a table of labelled rows
  bool reads_rows = false;              // data.split and data.folds can divide the examples
  bool reads_sentences = false;         // trains models of documents (ModelOptions::document)
  bool is_prefix_lm = false;            // a decoder sees the prefix in both directions
  bool records_attention = false;       // compares attention weights
  bool continues_text = false;          // data.streams: from step to step
  bool is_left_to_right = false;        // predicts each token from those before it alone
  bool trains_all_classifiers = false;  // of models with early exits
  bool supports_counting = false;       // models without gradient, such as n-grams, learn the same
  bool sets_sequence_losses = false;    // for layers that draw at random (nn/auxiliary_losses.h)
};

/// The config of a training run, against which an objective checks itself.
struct TrainingSetup {
  const config::Section& objective_section;  // for errors
  const config::Section& data_section;
  const models::ModelOptions& model;
  const data::DataOptions& data;
  bool is_evaluated = false;  // train.evaluate_every is not `never`
};

/// Training objective: which data the model sees, and its loss. A step's loss is the sum over terms
/// of (sum over all targets of the step) / (their weight in the step: their count, unless targets
/// are weighted).
///
/// Nothing outside asks which objective it is. A new one overrides what is pure here, and of the
/// rest what differs from plain text; the registry (objective_registry.h) has a line for it.
class Objective {
 public:
  virtual ~Objective() = default;

  /// `objective.type` in a config.
  virtual std::string_view name() const = 0;

  /// The head that a model of these options needs; the options' own head is the stored model's.
  virtual models::Head head(const models::ModelOptions& model) const = 0;
  /// Why a model of these options cannot be trained, if so.
  virtual std::optional<Incompatibility> incompatibility(
      const models::ModelOptions& /*model*/) const {
    return std::nullopt;
  }
  /// A generator that is trained beside the model; nullopt: none.
  virtual std::optional<models::ModelOptions> generator_options(
      const models::ModelOptions& /*model*/) const {
    return std::nullopt;
  }
  /// Of the model and its generator.
  virtual models::EmbeddingSharing embedding_sharing() const {
    return models::EmbeddingSharing::kShared;
  }
  /// A teacher that is only used for inference, with the model's head; nullopt: none. Throws
  /// UserError if its directory cannot be read.
  virtual std::optional<models::ModelOptions> teacher_options(
      const models::ModelOptions& /*model*/) const {
    return std::nullopt;
  }
  /// What others ask to check a config.
  virtual ObjectiveTraits traits(const models::ModelOptions& /*model*/) const { return {}; }
  /// Defaults of `train:` in a run that starts from this.
  virtual TrainingDefaults training_defaults(const TrainingStart& /*start*/) const { return {}; }

  /// Names of the terms: {"mlm", "next_sentence"}.
  virtual std::vector<std::string> terms() const = 0;
  /// Number of targets of each term in the batch.
  virtual std::vector<int64_t> counts(const data::Batch& batch) const = 0;
  /// Denominator of each term: the number of targets, unless they are weighted.
  virtual std::vector<double> weights(const data::Batch& batch) const {
    const auto numbers = counts(batch);
    return {numbers.begin(), numbers.end()};
  }
  /// The tokens of an example that Model::fit sees.
  virtual std::vector<int64_t> fitted_tokens(const data::Example& example) const {
    return example.ids;
  }
  /// Sum of each term over the batch's targets: fp32 scalars with gradient. The batch's layout in
  /// `context` determines the model's device. If there are running sums, they follow as one tensor
  /// of doubles without gradient.
  virtual std::vector<at::Tensor> losses(models::Model& model,
                                         const data::Batch& batch,
                                         const nn::ForwardContext& context) const = 0;
  /// Number of running sums from `losses`; they are added up over batches and steps.
  virtual int64_t num_running_sums() const { return 0; }
  /// Training metrics computed from the running sums: names without a prefix, and values.
  virtual std::map<std::string, double> metrics(const std::vector<double>& /*running_sums*/) const {
    return {};
  }
  virtual std::unique_ptr<Evaluation> evaluation() const = 0;
  /// A made-up example with inputs and targets for `losses`, of the shapes that training data of
  /// sequences of `length` tokens have. Measures the cost of a step before there are data.
  virtual data::Example sample_example(const models::ModelOptions& model, int64_t length) const = 0;
  /// `eval_loss`, lower is better, unless the objective has a better one; `train.best_by` overrides
  /// it.
  virtual std::string metric_for_best_model() const { return "eval_loss"; }
  /// The threshold of a classifier as configured, the metric that tunes it, and the positive class,
  /// known since `init_from_data`.
  virtual DecisionThreshold decision_threshold() const { return {}; }
  /// Evaluates with this threshold, tuning none; one that is nullopt leaves the configured one. A
  /// configured positive class is left too. Throws config::Error if the threshold is for another
  /// one.
  virtual void set_decision_threshold(const DecisionThreshold& /*decision*/) {}

  /// Reads (and tokenises) data.train and data.evaluate. Throws config::Error if the model is
  /// incompatible.
  Datasets make_datasets(const DatasetInputs& inputs) const;
  /// Takes from the data what the loss needs, such as class weights, instead of what earlier data
  /// had; called before `weights` and `losses`. Throws config::Error.
  virtual void init_from_data(const Datasets& /*data*/) {}
  /// Whether the examples of these data are pairs of a source and a target.
  virtual bool reads_pairs(const data::DataOptions& /*data*/,
                           const models::ModelOptions& /*model*/) const {
    return false;
  }
  /// Format of the labels in the data.
  virtual data::LabelFormat label_format(const data::DataOptions& data) const;
  /// The rows of an item, for data.split and data.folds; only called if traits().reads_rows.
  virtual data::SplitRows split_rows(const data::DataItem& item,
                                     const data::DataOptions& data,
                                     const models::ModelOptions& model) const;
  /// Languages named by the data and the objective, for a tokenizer with language tokens: that of
  /// the sources, of the targets if these have only one, and all others.
  virtual data::LanguageCodes language_codes(const data::DataOptions& data) const;
  /// Options for opening the token stores of running text.
  virtual data::DataOptions store_options(const data::DataOptions& data,
                                          const models::ModelOptions& /*model*/) const {
    return data;
  }
  /// Visits the texts that a run trains on, as seen by a tokenizer trained on them: only the rows
  /// that the items read.
  virtual void visit_training_texts(const TrainingTexts& texts,
                                    const data::TextVisitor& visit) const;

  /// Takes from the model directory that a run starts from what it fixes, such as the shape of a
  /// generator. Throws config::Error for keys that contradict it.
  virtual void init_from_model(const config::Section& /*section*/,
                               const std::string& /*directory*/) {}
  /// Throws config::Error if the rest of the config does not go with the objective. Only a run that
  /// trains is checked.
  virtual void check_training(const TrainingSetup& /*setup*/) const {}

 private:
  virtual Datasets read_datasets(const DatasetInputs& inputs) const = 0;
};

/// A pair of texts of `length` tokens together, or an image of the model's size; without targets.
data::Example sample_input(const models::ModelOptions& model, int64_t length);

/// Adds targets below `classes` at this fraction of the positions from `first` on, evenly spread.
void add_sample_targets(data::Example& example,
                        double fraction,
                        int64_t classes,
                        int64_t first = 0);

}  // namespace weft::objectives
