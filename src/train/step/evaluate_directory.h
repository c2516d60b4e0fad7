#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "objectives/evaluation/decision_threshold.h"
#include "objectives/objective.h"
#include "train/step/evaluate.h"

namespace weft::train {

/// Evaluation of a model directory.
struct DirectoryEvaluation {
  std::unique_ptr<objectives::Evaluation> evaluation;
  std::shared_ptr<const data::Dataset> dataset;
  objectives::DecisionThreshold decision;  // threshold in use
  std::string directory;                   // of the model
  std::shared_ptr<models::Model> model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  std::vector<data::DataItem> items;  // the files, with the columns read
  std::string selected_by;            // metric that selects the best checkpoint of a run
};

/// Evaluates a model directory (in the precision of the settings) on data files. Objective and data
/// options come from its weft.yaml (with its column names where a file has these columns),
/// otherwise from the head: classification, regression or masked language modelling. `overrides`:
/// `dotted.key=value`, applied on top of weft.yaml. With `settings.split` no files are named: the
/// rows are those of split.json, which must be there, and files must not have changed since. Throws
/// UserError.
DirectoryEvaluation run_evaluation_on_directory(const std::string& model,
                                                const std::vector<std::string>& files,
                                                const EvaluationSettings& settings,
                                                const std::vector<std::string>& overrides = {});

/// Columns of the training data of a model directory, as its weft.yaml names them.
struct TextColumns {
  std::optional<std::string> text;
  std::optional<std::string> text_pair;
};
TextColumns trained_text_columns(const std::string& directory);

/// Whether the training data of the model directory had two texts per row, by its weft.yaml and
/// the columns of its file, if that still exists.
bool was_trained_on_pairs(const std::string& directory);

/// Returns only the metrics.
Metrics evaluate_directory(const std::string& model,
                           const std::vector<std::string>& files,
                           const EvaluationSettings& settings,
                           const std::vector<std::string>& overrides = {});

}  // namespace weft::train
