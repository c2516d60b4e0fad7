#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "formats/json.h"

namespace weft::cli {

/// Declares the options for scoring texts against references: BLEU, chrF, ROUGE.
void declare_text_scores(Arguments& arguments);

/// Declares the subset that selects and configures metrics; `fallback`: default metrics, for the
/// help.
void declare_text_metrics(Arguments& arguments, const std::string& fallback);
const std::vector<std::string>& text_metric_options();

/// Throws UsageError for invalid metrics, UserError if a library that one needs is missing.
void check_text_metrics(const Arguments& arguments);

/// Metrics of lines against one reference each; BLEU, chrF and ROUGE by default. Includes the
/// number of `lines` and the signatures.
formats::Json text_metrics(const Arguments& arguments,
                           const std::vector<std::string>& hypotheses,
                           const std::vector<std::string>& references);

/// Whether the command line requests them.
bool wants_text_scores(const Arguments& arguments);

/// Compares two or more files line by line and writes the metrics. Throws UsageError.
int run_text_scores(const Arguments& arguments);

}  // namespace weft::cli
