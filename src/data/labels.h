#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// Class names in id order. If the model has only the default names LABEL_0, LABEL_1, ..., the bare
/// numbers are accepted too.
class Labels {
 public:
  explicit Labels(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  std::optional<int64_t> find(std::string_view name) const;
  /// Whether all names are found.
  bool has_all(const std::vector<std::string>& names) const;
  /// Throws data::Error `location: ...` for an unknown name.
  [[noreturn]] void throw_unknown(std::string_view name, const std::string& location) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, int64_t, std::less<>> ids_;
};

/// The name of a class; `LABEL_3` if there are fewer names.
std::string label_name(const std::vector<std::string>& names, int64_t id);

/// Returns the distinct names: sorted by value if all are numbers, else by bytes.
std::vector<std::string> sorted_labels(std::vector<std::string> names);

/// Reads the class names of a `names_file`, one per line, in the order of their ids. Throws
/// data::Error for an empty or duplicate name.
std::vector<std::string> read_class_names(const std::string& path);

/// The `known` class names or, if there are none, those `found` in the data; these also if
/// `may_replace` and not all of them are known.
std::vector<std::string> choose_labels(const std::vector<std::string>& known,
                                       const std::vector<std::string>& found,
                                       bool may_replace);

/// `a, b, c`; of more than 20 names the first 20 and `and 123 more`.
std::string abbreviated(const std::vector<std::string>& names);

/// Parses a finite number; nullopt for any other text.
std::optional<double> parse_number(std::string_view text);

}  // namespace weft::data
