#pragma once

#include <string>

namespace weft::cli {

/// docs/support.md: the heads of each family, the objectives that can train it, and its names in
/// `transformers`, from the tables of families and objectives.
std::string support_page();

}  // namespace weft::cli
