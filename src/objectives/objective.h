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
#include "formats/json.h"
#include "models/model.h"
#include "objectives/evaluation/verdict.h"
#include "objectives/options.h"

namespace weft::objectives {

/// Sums figures over evaluation batches. The result is the same for every way of cutting the data
/// into batches.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  virtual void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) = 0;
  /// Names as transformers has them, `eval_` in front: eval_loss, eval_accuracy, eval_f1, ...
  virtual std::map<std::string, double> result() const = 0;
  /// What is no single number, as a JSON object: figures of each class, the confusion matrix.
  virtual formats::Json details() const { return formats::Json::object(); }
  /// The items of greatest loss, worst first, at most `most`; nothing where the objective does not
  /// judge items one by one.
  virtual std::optional<std::vector<Verdict>> worst(int64_t /*most*/) const { return std::nullopt; }
};

struct TaskData;

/// What a model is trained for: which data it sees, and what its loss is.
/// A step's loss is the sum over terms of (sum over all targets of the step) / (their weight in the
/// step: their count, unless targets weigh differently).
class Objective {
 public:
  virtual ~Objective() = default;

  /// The head that the model needs.
  virtual models::Head head() const = 0;
  /// Names of the terms: {"mlm", "next_sentence"}.
  virtual std::vector<std::string> terms() const = 0;
  /// Targets of each term in the batch.
  virtual std::vector<int64_t> counts(const data::Batch& batch) const = 0;
  /// What the sum of each term is divided by: the targets, unless they weigh differently.
  virtual std::vector<double> weights(const data::Batch& batch) const {
    const auto numbers = counts(batch);
    return {numbers.begin(), numbers.end()};
  }
  /// Takes from the data what the loss needs, such as the weights of classes; called once, before
  /// `weights` and `losses`. Throws config::Error.
  virtual void learn_from(const TaskData& /*data*/) {}
  /// Sum of each term over the batch's targets: fp32 scalars with gradient. The batch's layout in
  /// `pass` says on which device the model is. Behind them, where there are `tallies`, these in one
  /// tensor of doubles without gradient.
  virtual std::vector<at::Tensor> losses(models::Model& model,
                                         const data::Batch& batch,
                                         const nn::Pass& pass) const = 0;
  /// How many numbers `losses` counts on the way; they add up over batches and steps.
  virtual int64_t tallies() const { return 0; }
  /// What the log of a training says of such sums: names without a prefix, and values.
  virtual std::map<std::string, double> figures(const std::vector<double>& /*tallies*/) const {
    return {};
  }
  virtual std::unique_ptr<Evaluation> evaluation() const = 0;
  /// `eval_loss`, lower is better, unless the objective has a better one; `train.best_by` overrides
  /// it.
  virtual std::string best_by() const { return "eval_loss"; }
};

/// The data of a run as the objective wants them.
struct TaskData {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> evaluate;  // or nothing
  std::vector<std::string> labels;                // class names, for classification
  std::vector<int64_t> class_counts;              // rows of `train` in each class
  int64_t rows = 0;                               // of `train`
  std::vector<std::string> remarks;               // for the log
  std::vector<std::string> warnings;              // for the log too, what may be a mistake
};

/// Reads (and tokenises) data.train and data.evaluate. `labels`: class names known already
/// (init_from of a classifier).
TaskData make_task_data(const ObjectiveOptions& objective,
                        const data::DataOptions& options,
                        const models::ModelOptions& model,
                        std::shared_ptr<const data::Tokenizer> tokenizer,
                        uint64_t seed,
                        const data::ProgressVisitor& progress);

std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options);

}  // namespace weft::objectives
