#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

/// Write scalars as YAML that this library and other YAML readers parse to the same value.
std::string yaml_text(std::string_view text);
std::string yaml_number(double value);
std::string yaml_list(const std::vector<std::string>& scalars);

}  // namespace weft::config
