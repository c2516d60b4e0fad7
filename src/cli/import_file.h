#pragma once

#include <string>

#include "cli/command.h"

namespace weft::cli {

/// Imports a model that is one file of another program: ARPA, fastText. False: it is not such a
/// file. Throws UsageError for options that do not apply, formats::Error.
bool import_file(const Arguments& arguments, const std::string& output);

}  // namespace weft::cli
