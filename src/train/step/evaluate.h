#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/split.h"
#include "models/inference.h"
#include "models/model.h"
#include "objectives/objective.h"
#include "train/distributed/process_group.h"

namespace weft::train {

struct EvaluationSettings {
  models::InferenceOptions inference = {};  // for a model in training only its device is used
  int64_t batch_tokens = 8192;  // changes speed and memory, not the result; on the CPU 512 at most
  int64_t workers = 1;
  bool needs_example_results = false;  // reject objectives without per-example results
  bool needs_pairs = false;            // reject objectives that are not source-target
  std::string language = {};           // of the texts, for multilingual models
  std::string early_exit = {};         // in place of the model's rule (models::replace_exit_rule)
  /// Evaluate these rows of the training data, as the run recorded them, instead of files.
  std::optional<data::SplitPart> split = std::nullopt;
  ProcessGroup* group = &single_process();  // whose ranks each evaluate a part
  bool is_collective = false;               // ranks fetch the weights of layers from each other
};

/// Metric values by name, as in objectives::Evaluation: eval_loss, ...
using Metrics = std::map<std::string, double>;

/// A metric value in a log line: rounded to 5 decimals.
std::string metric_text(double value);

/// Evaluates the data once, without dropout. The result has the same bits on all ranks, for any
/// number of them. Throws Stopped if a stop is requested on any rank, DistributedError.
std::unique_ptr<objectives::Evaluation> run_evaluation(const objectives::Objective& objective,
                                                       models::Model& model,
                                                       std::shared_ptr<const data::Dataset> dataset,
                                                       const EvaluationSettings& settings);

/// Returns only the metrics.
Metrics evaluate(const objectives::Objective& objective,
                 models::Model& model,
                 std::shared_ptr<const data::Dataset> dataset,
                 const EvaluationSettings& settings);

}  // namespace weft::train
