#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// Predicts a target text from a source text, token by token (arXiv:1409.3215), with label
/// smoothing (arXiv:1706.03762, section 5.4). Its dataset's examples have a source; corruption
/// objectives, which make sources from other texts, use it as is. `name`: of the loss term.
/// `target_fraction`: share of a pair's tokens that the target has, for sample_example.
std::unique_ptr<Objective> make_seq2seq_objective(const ObjectiveOptions& options,
                                                  const std::string& name = "seq2seq",
                                                  double target_fraction = 0.5);

/// Pairs of texts, prepared for the options and the model.
Datasets parallel_datasets(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           int64_t length,
                           const data::ProgressVisitor& progress);

}  // namespace weft::objectives
