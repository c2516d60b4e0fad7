#include "data/label_form.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
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

/// `["a", "b"]`, as JSONL files have lists; nothing for other text.
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

Names parts_of(std::string_view field, std::string_view separator) {
  Names parts;
  for (std::size_t begin = 0; begin <= field.size();) {
    const auto end = std::min(field.find(separator, begin), field.size());
    add_trimmed(parts, field.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

}  // namespace

LabelReader::LabelReader(const DataItem& item, const LabelForm& form, Names columns)
    : form_(form), columns_(std::move(columns)), has_columns_(!item.labels.empty()) {
  if (has_columns_ && !form.takes_several()) {
    throw Error(text(item.path,
                     ": labels: several columns, but each text has one class; allowed with "
                     "objective.multi_label: true or objective.type: regress"));
  }
}

Names LabelReader::read(const std::vector<std::optional<std::string>>& fields,
                        const std::string& place) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (fields[i] && (form_.is_multi_label || !trim(*fields[i]).empty())) {
      continue;
    }
    if (form_.unlabelled == Unlabelled::kDrop) {
      return {};
    }
    throw Error(text(place, ": ", fields[i] ? "an empty `" : "no `", columns_[i],
                     "`, every row must have one; data.unlabelled: drop leaves such rows out"));
  }
  return has_columns_ ? several_fields(fields, place) : one_field(*fields.front());
}

Names LabelReader::one_field(const std::string& field) const {
  const auto bare = trim(field);
  if (form_.takes_several()) {
    if (const auto list = label_listed(bare)) {
      return *list;
    }
    if (!form_.separator.empty()) {
      return parts_of(bare, form_.separator);
    }
  }
  Names names;
  add_trimmed(names, bare);
  return names;
}

Names LabelReader::several_fields(const std::vector<std::optional<std::string>>& fields,
                                  const std::string& place) const {
  Names names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string field(trim(*fields[i]));
    if (form_.is_regression) {
      names.push_back(field);
      continue;
    }
    const auto value = number_of(field);
    const bool is_there = field == "true" || value == 1.0;
    if (!is_there && field != "false" && value != 0.0) {
      throw Error(text(place, ": `", columns_[i], "` is '", field.substr(0, 100),
                       "', must be 1 or 0: does the row belong to this class?"));
    }
    if (is_there) {
      names.push_back(columns_[i]);
    }
  }
  return names;
}

}  // namespace weft::data
