#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "formats/json.h"

namespace weft::cli {

/// Options of scores of texts against references: BLEU, chrF, ROUGE.
void declare_text_scores(Arguments& arguments);

/// Those of them that say which figures there are, and how they count; `otherwise`: the metrics
/// where none is named, for the help.
void declare_text_metrics(Arguments& arguments, const std::string& otherwise);
const std::vector<std::string>& text_metric_options();

/// Throws UsageError for those that cannot be, UserError where a library that one needs is missing.
void check_text_metrics(const Arguments& arguments);

/// The figures of lines against one reference each: BLEU, chrF and ROUGE where none is named. With
/// the number of `lines` and the signatures.
formats::Json text_figures(const Arguments& arguments,
                           const std::vector<std::string>& hypotheses,
                           const std::vector<std::string>& references);

/// Whether the command line asks for them.
bool wants_text_scores(const Arguments& arguments);

/// Compares two or more files line by line and writes the figures. Throws UsageError.
int run_text_scores(const Arguments& arguments);

}  // namespace weft::cli
