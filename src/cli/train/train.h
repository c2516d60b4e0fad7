#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "train/run/run_config.h"

namespace weft::cli {

/// Declares the options of `weft train` that check determinism.
void declare_reproduce(Arguments& arguments);

/// `--reproduce RUN` and `--verify-resume`: prints the result as JSON to standard output and as
/// text to the log. Returns 0 if everything is bit-identical, otherwise 1.
int run_reproduce(const Arguments& arguments);
int run_verify_resume(const Arguments& arguments, const train::RunConfig& config);

/// Writes report.html of a run, or of a sweep, if `run.report` asks for it. A failure is a warning:
/// the training has succeeded.
void write_report_if_asked(const train::RunOptions& options);

/// Declares the options of `weft train` for sweeps.
void declare_sweep(Arguments& arguments);

/// Whether the command line requests more than one run.
bool asks_for_sweep(const Arguments& arguments);

/// `5`: that many, from `first`. `1,2,7`: these. Throws UsageError.
std::vector<int64_t> read_seeds(std::string_view word, int64_t first);

/// Runs all of them, one after the other, and prints the results to standard output.
int run_sweep(const Arguments& arguments, const std::vector<std::string>& overrides);

}  // namespace weft::cli
