#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "objectives/evaluation/decision.h"
#include "objectives/objective.h"
#include "train/step/evaluate.h"

namespace weft::train {

/// What was found of a model directory.
struct DirectoryEvaluation {
  std::unique_ptr<objectives::Evaluation> evaluation;
  std::shared_ptr<const data::Dataset> dataset;
  objectives::Decision decision;  // by which it decided
  std::string directory;          // of the model
  std::shared_ptr<models::Model> model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  std::vector<data::DataItem> items;  // the files, with the columns that are read
};

/// Evaluates a model directory (in the number format of the settings) on data files. The objective
/// and the reading of data are those of its weft.yaml (columns that it names where a file has
/// them), else what its head tells: classification, regression or masked language modelling.
/// `overrides`: `dotted.key=value` on top of weft.yaml. Throws UserError.
DirectoryEvaluation evaluate_all(const std::string& model,
                                 const std::vector<std::string>& files,
                                 const EvaluationSettings& settings,
                                 const std::vector<std::string>& overrides = {});

/// Its figures alone.
Figures evaluate_directory(const std::string& model,
                           const std::vector<std::string>& files,
                           const EvaluationSettings& settings,
                           const std::vector<std::string>& overrides = {});

}  // namespace weft::train
