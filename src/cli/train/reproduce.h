#pragma once

#include "cli/verb.h"
#include "train/run/run_config.h"

namespace weft::cli {

/// Declares the options of `weft train` that check determinism.
void declare_reproduce(Arguments& arguments);

/// `--reproduce RUN` and `--verify-resume`: prints the result as JSON to standard output and as
/// text to the log. Returns 0 if everything is bit-identical, otherwise 1.
int run_reproduce(const Arguments& arguments);
int run_verify_resume(const Arguments& arguments, const train::RunConfig& config);

}  // namespace weft::cli
