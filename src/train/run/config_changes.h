#pragma once

#include <string>
#include <vector>

namespace weft::train {

/// A key whose value differs between two resolved configs; `none` where one of them has no such
/// key.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;
};

/// Compares two resolved configs key by key.
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after);

/// Whether a run that goes on may have another value for the key: what decides the model, the data
/// it is trained on, its objective and the draws of chance may not change.
bool may_change(const std::string& key);

}  // namespace weft::train
