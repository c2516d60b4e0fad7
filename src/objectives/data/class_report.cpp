#include "objectives/data/class_report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/labels.h"

namespace weft::objectives {

namespace {

constexpr int64_t kStrongImbalance = 20;  // times as many examples

std::string class_count(const Datasets& data, std::size_t index) {
  return str_cat(data.labels[index], " ", with_commas(data.class_counts[index]), " (",
                 format_percent(data.class_counts[index], data.rows), ")");
}

void warn_of_missing(const std::string& where,
                     const ClassKind& kind,
                     const std::vector<int64_t>& counts,
                     Datasets& data) {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) {
      missing.push_back(data.labels[i]);
    }
  }
  if (!missing.empty()) {
    data.warnings.push_back(str_cat(where, ": no ", kind.unit, " of the ",
                                    missing.size() == 1 ? "class " : "classes ",
                                    data::abbreviated(missing)));
  }
}

void warn_of_similar_names(Datasets& data) {
  std::map<std::u32string, std::vector<std::string>> spellings;
  for (const auto& name : data.labels) {
    spellings[python_lower(utf8::decode(trim(name)))].push_back(quoted_text(name));
  }
  std::vector<std::string> similar;
  for (const auto& [key, names] : spellings) {
    if (names.size() > 1) {
      similar.push_back(join(names, " and "));
    }
  }
  if (!similar.empty()) {
    data.warnings.push_back(str_cat("classes that differ only in case or surrounding spaces: ",
                                    data::abbreviated(similar)));
  }
}

/// The separator if the name lists at least two other classes.
std::optional<char> list_separator(const std::string& name, const std::set<std::string>& classes) {
  for (const char separator : std::string_view("|;,")) {
    const auto parts = split(name, separator);
    if (parts.size() > 1 && std::ranges::all_of(parts, [&](const auto& part) {
          return classes.contains(std::string(trim(part)));
        })) {
      return separator;
    }
  }
  return std::nullopt;
}

void warn_of_lists(Datasets& data) {
  const std::set<std::string> classes(data.labels.begin(), data.labels.end());
  for (const auto& name : data.labels) {
    if (const auto separator = list_separator(name, classes)) {
      data.warnings.push_back(str_cat("the class ", quoted_text(name),
                                      " is a list of other classes; if rows have several, use "
                                      "objective.multi_label: true and data.label_separator: '",
                                      *separator, "'"));
      return;
    }
  }
}

void warn_of_imbalance(const ClassKind& kind, Datasets& data) {
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < data.class_counts.size(); ++i) {
    if (data.class_counts[i] > 0) {
      classes.push_back(i);
    }
  }
  const auto [rarest, most] = std::minmax_element(
      classes.begin(), classes.end(),
      [&](std::size_t a, std::size_t b) { return data.class_counts[a] < data.class_counts[b]; });
  if (!classes.empty() &&
      data.class_counts[*most] >= kStrongImbalance * data.class_counts[*rarest]) {
    data.warnings.push_back(str_cat("train: strong imbalance, from ", class_count(data, *rarest),
                                    " to ", class_count(data, *most), " ", kind.unit,
                                    "; accuracy says little about rare classes, eval_f1_macro and "
                                    "objective.class_weights: balanced weigh all alike"));
  }
}

/// Two numbers may well be names; more of them, or fractions, may be values.
bool look_like_values(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [](const auto& name) { return data::parse_number(name).has_value(); }) &&
         (names.size() > 2 || std::any_of(names.begin(), names.end(), [](const auto& name) {
            return name.find('.') != std::string::npos;
          }));
}

}  // namespace

void report_classes(const ClassKind& kind, const std::vector<int64_t>& evaluated, Datasets& data) {
  if (!data.train) {
    return;
  }
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    counts.push_back(class_count(data, i));
  }
  data.remarks.push_back(str_cat("train: ", with_commas(data.rows), " ", kind.unit, " of ",
                                 counts.size(), " classes: ", data::abbreviated(counts)));
  if (kind.may_be_numbers && look_like_values(data.labels)) {
    data.remarks.push_back(
        "all class names are numbers; if they are values to predict, use objective.type: regress");
  }
  warn_of_missing("train", kind, data.class_counts, data);
  warn_of_missing("evaluate", kind, evaluated, data);
  warn_of_similar_names(data);
  if (kind.may_be_lists) {
    warn_of_lists(data);
  }
  if (kind.may_be_imbalanced) {
    warn_of_imbalance(kind, data);
  }
}

}  // namespace weft::objectives
