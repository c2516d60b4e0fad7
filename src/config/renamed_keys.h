#pragma once

#include <string_view>

namespace weft::config {

/// Returns the current name of a renamed key, for "did you mean"; empty if the key never existed.
/// `path` is dotted; list items may have an index or not.
std::string_view renamed_key(std::string_view path);

}  // namespace weft::config
