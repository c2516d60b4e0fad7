#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace weft::cli {

/// Declares the options of `weft train` for sweeps.
void declare_sweep(Arguments& arguments);

/// Whether the command line requests more than one run.
bool asks_for_sweep(const Arguments& arguments);

/// `5`: that many, from `first`. `1,2,7`: these. Throws UsageError.
std::vector<int64_t> read_seeds(std::string_view word, int64_t first);

/// Runs all of them, one after the other, and prints the results to standard output.
int run_sweep(const Arguments& arguments, const std::vector<std::string>& overrides);

}  // namespace weft::cli
