#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace weft::cli {

/// The options of `weft train` that make many runs of one config.
void declare_sweep(Arguments& arguments);

/// Whether the command line asks for more than one run.
bool asks_for_sweep(const Arguments& arguments);

/// `5`: so many from `first` on. `1,2,7`: these. Throws UsageError.
std::vector<int64_t> read_seeds(std::string_view word, int64_t first);

/// Makes all runs, one after the other, and writes what came out to standard output.
int run_sweep(const Arguments& arguments, const std::vector<std::string>& overrides);

}  // namespace weft::cli
