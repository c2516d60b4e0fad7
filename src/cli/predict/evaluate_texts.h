#pragma once

#include "cli/verb.h"
#include "formats/json.h"
#include "train/step/evaluate_directory.h"

namespace weft::cli {

/// `weft evaluate --generate`: the options of the texts that the model writes, and of the figures
/// that compare them with the targets.
void declare_evaluated_texts(Arguments& arguments);

/// Whether texts are wanted. Throws UsageError for options that need them where they are not.
bool wants_texts(const Arguments& arguments);

/// Writes a text for the source of every pair, an empty one where the source is blank, and compares
/// them with the targets: `eval_bleu`, `eval_chrf`, `eval_rouge1` and so on.
formats::Json evaluate_texts(const Arguments& arguments, const train::DirectoryEvaluation& done);

}  // namespace weft::cli
