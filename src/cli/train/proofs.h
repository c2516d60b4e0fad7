#pragma once

#include "cli/verb.h"
#include "train/run/run_config.h"

namespace weft::cli {

/// The options of `weft train` that prove something about runs.
void declare_proofs(Arguments& arguments);

/// `--repeat RUN` and `--verify-resume`: what was found goes to standard output as JSON and to the
/// log in words. 0 where all is equal, bit for bit, else 1.
int run_repeat(const Arguments& arguments);
int run_verify_resume(const Arguments& arguments, const train::RunConfig& config);

}  // namespace weft::cli
