#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// Names of classes in the order of their ids. Where a model knows none and calls them LABEL_0,
/// LABEL_1, ... their bare numbers name them too.
class Labels {
 public:
  explicit Labels(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  std::optional<int64_t> find(std::string_view name) const;
  /// Throws data::Error `place: ...` for a name that is not among them.
  [[noreturn]] void refuse(std::string_view name, const std::string& place) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, int64_t, std::less<>> ids_;
};

/// Sorted without repetition: by value where all are numbers, else by their bytes.
std::vector<std::string> sorted_labels(std::vector<std::string> names);

/// A finite number, or nothing for other text.
std::optional<double> number_of(std::string_view text);

}  // namespace weft::data
