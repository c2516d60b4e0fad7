#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/inference.h"
#include "models/model.h"
#include "objectives/objective.h"

namespace weft::train {

struct EvaluationSettings {
  models::InferenceOptions inference = {};  // of a model in training its device alone
  int64_t batch_tokens = 8192;  // changes speed and memory, not the result; on the CPU 512 at most
  int64_t workers = 1;
  bool judges_items = false;  // refuse what cannot tell its worst items
  bool needs_pairs = false;   // refuse what does not learn a target for a source
  std::string language = {};  // of the texts, where the model tells languages apart
};

/// Names and values as objectives::Evaluation gives them: eval_loss, ...
using Figures = std::map<std::string, double>;

/// Goes through the data once, without chance. Throws Stopped where a stop is asked for meanwhile.
std::unique_ptr<objectives::Evaluation> evaluation_of(const objectives::Objective& objective,
                                                      models::Model& model,
                                                      std::shared_ptr<const data::Dataset> dataset,
                                                      const EvaluationSettings& settings);

/// Its figures.
Figures evaluate(const objectives::Objective& objective,
                 models::Model& model,
                 std::shared_ptr<const data::Dataset> dataset,
                 const EvaluationSettings& settings);

/// Whether less is better for a figure of this name: losses, perplexities, errors.
bool is_better_low(const std::string& figure);

}  // namespace weft::train
