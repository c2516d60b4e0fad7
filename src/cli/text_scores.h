#pragma once

#include "cli/verb.h"

namespace weft::cli {

/// Options of scores of texts against references: BLEU, chrF, ROUGE.
void declare_text_scores(Arguments& arguments);

/// Whether the command line asks for them.
bool wants_text_scores(const Arguments& arguments);

/// Compares two or more files line by line and writes the figures. Throws UsageError.
int run_text_scores(const Arguments& arguments);

}  // namespace weft::cli
