#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "formats/json.h"
#include "train/step/evaluate_directory.h"

namespace weft::cli {

/// Declares the options of `weft evaluate --generate`: for generating texts and for the metrics
/// that compare them with the targets.
void declare_generated_texts(Arguments& arguments);

/// Whether to generate texts. Throws UsageError for options that require it if it is not requested.
bool wants_generated_texts(const Arguments& arguments);

/// Generates a text for the source of every pair, an empty one if the source is blank, and compares
/// the texts with the targets: `eval_bleu`, `eval_chrf`, `eval_rouge1` and so on. Ranks divide the
/// sources; only rank 0 returns metrics.
formats::Json evaluate_texts(const Arguments& arguments,
                             const train::DirectoryEvaluation& done,
                             train::ProcessGroup& group);

/// The report of `weft evaluate` as tables for people: metrics, `selected_by` first; precision,
/// recall and F1 of each class; the confusion matrix.
std::string evaluation_table(const formats::Json& report, const std::string& selected_by);

}  // namespace weft::cli
