#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace weft::metrics {

/// References per line for a signature: `1`, or `var` if lines differ; `0` without lines.
template <class Record>
std::string number_of_references(const std::vector<Record>& records) {
  const bool varies = std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.references != records.front().references;
  });
  return varies ? "var" : std::to_string(records.empty() ? 0 : records.front().references);
}

}  // namespace weft::metrics
