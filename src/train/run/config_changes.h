#pragma once

#include <string>
#include <vector>

namespace weft::train {

/// A key whose value differs between two resolved configs; `none` where one of them lacks the key.
struct ConfigChange {
  std::string key;
  std::string before;
  std::string after;
};

/// Compares two resolved configs key by key.
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& after);

/// Whether the key may change when a run is resumed. Keys that determine the model, the training
/// data, the objective or the random numbers may not.
bool may_change(const std::string& key);

}  // namespace weft::train
