#include "data/label_form.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "data/error.h"
#include "data/labels.h"
#include "formats/json.h"

namespace weft::data {
namespace {

using Names = std::vector<std::string>;

void add_trimmed(Names& names, std::string_view name) {
  const auto bare = trim(name);
  if (!bare.empty()) {
    names.emplace_back(bare);
  }
}

/// Parses `["a", "b"]`, the form in which tables return lists; nullopt for other text.
std::optional<Names> label_listed(std::string_view field) {
  if (!field.starts_with('[') || !field.ends_with(']')) {
    return std::nullopt;
  }
  const auto list = formats::Json::parse(field, nullptr, false);
  if (!list.is_array()) {
    return std::nullopt;
  }
  Names names;
  for (const auto& item : list) {
    add_trimmed(names, item.is_string() ? item.get<std::string>() : item.dump());
  }
  return names;
}

Names split_labels(std::string_view field, std::string_view separator) {
  Names parts;
  for (std::size_t begin = 0; begin <= field.size();) {
    const auto end = std::min(field.find(separator, begin), field.size());
    add_trimmed(parts, field.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace

LabelReader::LabelReader(const DataItem& item, const LabelFormat& label_format, Names columns)
    : label_format_(label_format),
      columns_(std::move(columns)),
      has_columns_(!item.labels.empty()) {
  if (item.names_file) {
    class_names_ = read_class_names(*item.names_file);
  }
  if (has_columns_ && !label_format.allows_multiple()) {
    throw Error(str_cat(item.path,
                        ": labels: several label columns, but each text has one class; several are "
                        "allowed with objective.multi_label: true or objective.type: regress"));
  }
}

std::optional<Names> LabelReader::read(const std::vector<std::optional<std::string>>& fields,
                                       const std::string& location) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (fields[i] && (label_format_.is_multi_label || !trim(*fields[i]).empty())) {
      continue;
    }
    if (label_format_.unlabelled == Unlabelled::kDrop) {
      return std::nullopt;
    }
    throw Error(str_cat(location, ": ", fields[i] ? "an empty field `" : "no field `", columns_[i],
                        "`, every row must have a label; data.unlabelled: drop skips such rows"));
  }
  if (has_columns_) {
    return several_fields(fields, location);
  }
  auto names = one_field(*fields.front());
  for (auto& name : names) {
    replace_by_name(name, location);
  }
  return names;
}

void LabelReader::replace_by_name(std::string& label, const std::string& location) const {
  if (class_names_.empty() || std::ranges::find(class_names_, label) != class_names_.end()) {
    return;
  }
  const auto number = parse_number(label);
  const auto count = static_cast<double>(class_names_.size());
  if (!number || *number < 0 || *number >= count || *number != std::floor(*number)) {
    throw Error(str_cat(location, ": label '", label.substr(0, 100),
                        "', must be a class name of names_file or a number from 0 to ",
                        class_names_.size() - 1));
  }
  label = class_names_[static_cast<std::size_t>(*number)];
}

Names LabelReader::one_field(const std::string& field) const {
  const auto bare = trim(field);
  if (label_format_.allows_multiple()) {
    if (const auto list = label_listed(bare)) {
      return *list;
    }
    if (!label_format_.separator.empty()) {
      return split_labels(bare, label_format_.separator);
    }
  }
  Names names;
  add_trimmed(names, bare);
  return names;
}

Names LabelReader::several_fields(const std::vector<std::optional<std::string>>& fields,
                                  const std::string& location) const {
  Names names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string field(trim(*fields[i]));
    if (label_format_.is_regression) {
      names.push_back(field);
      continue;
    }
    const auto value = parse_number(field);
    const bool is_positive = field == "true" || value == 1.0;
    if (!is_positive && field != "false" && value != 0.0) {
      throw Error(str_cat(location, ": `", columns_[i], "` is '", field.substr(0, 100),
                          "', must be 1 (the row has this class) or 0"));
    }
    if (is_positive) {
      names.push_back(columns_[i]);
    }
  }
  return names;
}

}  // namespace weft::data
