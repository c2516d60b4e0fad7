#include "data/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/string_util.h"
#include "data/error.h"
#include "formats/line_reader.h"

namespace weft::data {

Labels::Labels(std::vector<std::string> names) : names_(std::move(names)) {
  bool are_numbers = true;
  for (std::size_t id = 0; id < names_.size(); ++id) {
    if (!ids_.emplace(names_[id], static_cast<int64_t>(id)).second) {
      throw Error(str_cat("labels: '", names_[id], "' is duplicated in the class names"));
    }
    are_numbers = are_numbers && names_[id] == str_cat("LABEL_", id);
  }
  for (std::size_t id = 0; are_numbers && id < names_.size(); ++id) {
    ids_.emplace(std::to_string(id), static_cast<int64_t>(id));
  }
}

std::optional<int64_t> Labels::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool Labels::has_all(const std::vector<std::string>& names) const {
  return std::all_of(names.begin(), names.end(),
                     [&](const auto& name) { return find(name).has_value(); });
}

void Labels::throw_unknown(std::string_view name, const std::string& location) const {
  const std::string suggestion = did_you_mean(name, names_);
  const std::string hint = suggestion.empty() ? "" : str_cat(" (did you mean '", suggestion, "'?)");
  throw Error(str_cat(location, ": '", name.substr(0, 100), "' is not one of the classes ",
                      abbreviated(names_), hint));
}

std::string label_name(const std::vector<std::string>& names, int64_t id) {
  const auto index = static_cast<std::size_t>(id);
  return index < names.size() ? names[index] : str_cat("LABEL_", id);
}

std::vector<std::string> sorted_labels(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const bool is_numeric = std::all_of(
      names.begin(), names.end(), [](const auto& name) { return parse_number(name).has_value(); });
  if (is_numeric) {
    std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return *parse_number(a) < *parse_number(b);
    });
  }
  return names;
}

std::vector<std::string> read_class_names(const std::string& path) {
  std::vector<std::string> names;
  formats::LineReader lines(path, 1 << 16);
  for (std::string_view line; lines.next(line);) {
    names.emplace_back(trim(line));
  }
  while (!names.empty() && names.back().empty()) {
    names.pop_back();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || std::count(names.begin(), names.end(), names[i]) > 1) {
      throw Error(str_cat(path, ":", i + 1, ": class ", i, " has an empty or duplicate name"));
    }
  }
  return names;
}

std::vector<std::string> choose_labels(const std::vector<std::string>& known,
                                       const std::vector<std::string>& found,
                                       bool may_replace) {
  const bool is_kept = !known.empty() && (!may_replace || Labels(known).has_all(found));
  return is_kept ? known : found;
}

std::string abbreviated(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 20;
  if (names.size() <= kMaxNamed) {
    return join(names);
  }
  const std::vector<std::string> some(names.begin(), names.begin() + kMaxNamed);
  return str_cat(join(some), " and ", names.size() - kMaxNamed, " more");
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace weft::data
