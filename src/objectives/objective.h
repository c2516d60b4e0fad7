#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "data/batch.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "objectives/evaluation/evaluation.h"
#include "objectives/options.h"

namespace weft::objectives {

struct Datasets;

/// Training objective: which data the model sees, and its loss. A step's loss is the sum over terms
/// of (sum over all targets of the step) / (their weight in the step: their count, unless targets
/// are weighted).
class Objective {
 public:
  virtual ~Objective() = default;

  /// The head that the model needs.
  virtual models::Head head() const = 0;
  /// Names of the terms: {"mlm", "next_sentence"}.
  virtual std::vector<std::string> terms() const = 0;
  /// Number of targets of each term in the batch.
  virtual std::vector<int64_t> counts(const data::Batch& batch) const = 0;
  /// Denominator of each term: the number of targets, unless they are weighted.
  virtual std::vector<double> weights(const data::Batch& batch) const {
    const auto numbers = counts(batch);
    return {numbers.begin(), numbers.end()};
  }
  /// Takes from the data what the loss needs, such as class weights; called once, before `weights`
  /// and `losses`. Throws config::Error.
  virtual void init_from_data(const Datasets& /*data*/) {}
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
};

/// The data of a run, prepared for the objective.
struct Datasets {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> evaluate;  // or nullptr
  std::vector<std::string> labels;                // class names, for classification
  std::vector<int64_t> class_counts;              // rows of `train` per class
  int64_t rows = 0;                               // of `train`
  std::vector<std::string> remarks;               // for the log
  std::vector<std::string> warnings;              // for the log: possible mistakes
};

/// Reads (and tokenises) data.train and data.evaluate. Class names already known (init_from of a
/// classifier) are `model.labels`.
Datasets make_datasets(const ObjectiveOptions& objective,
                       const data::DataOptions& options,
                       const models::ModelOptions& model,
                       std::shared_ptr<const data::Tokenizer> tokenizer,
                       uint64_t seed,
                       const data::ProgressVisitor& progress);

std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options);

}  // namespace weft::objectives
