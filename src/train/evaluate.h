#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "data/dataset.h"
#include "models/model.h"
#include "objectives/objective.h"

namespace weft::train {

struct EvaluationSettings {
  c10::Device device = c10::DeviceType::CPU;
  c10::ScalarType type = c10::ScalarType::Float;  // of a model that is loaded for it
  bool is_quantized = false;                      // with weights of linear layers in int8
  int64_t batch_tokens = 8192;  // changes speed and memory, not the result; on the CPU 512 at most
  int64_t workers = 1;
  bool judges_items = false;  // refuse what cannot tell its worst items
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
