#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "data/error.h"
#include "data/rows/tagged_rows.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {
namespace {

using formats::Json;
using Names = std::vector<std::string>;

const Names kWordLists = {"words", "tokens"};
const Names kSentenceLists = {"sentences"};
const Names kTagLists = {"labels", "tags", "ner_tags"};

const Names& unit_lists(TaggedUnit unit) {
  return unit == TaggedUnit::kWord ? kWordLists : kSentenceLists;
}

/// One of what has a tag, for messages.
std::string_view unit_word(TaggedUnit unit) {
  return unit == TaggedUnit::kWord ? "word" : "sentence";
}

/// Returns the list under the key that the item names, else under the first of the usual ones.
const Json& list_of(const Json& row,
                    const std::optional<std::string>& named,
                    const Names& default_names,
                    const std::string& location) {
  const Names keys = named ? Names{*named} : default_names;
  for (const std::string& key : keys) {
    if (const auto found = row.find(key); found != row.end()) {
      if (!found->is_array()) {
        throw Error(str_cat(location, ": \"", key, "\" is not a list"));
      }
      return *found;
    }
  }
  const bool has_sentences = default_names == kWordLists && row.contains(kSentenceLists.front());
  throw Error(str_cat(location, ": no list ", join(keys, " or "), ", every row must have one",
                      has_sentences ? "; a list of sentences needs model.document" : ""));
}

void add_word(const Json& word,
              const Json& tag,
              int64_t line,
              const std::string& location,
              TaggedUnit unit,
              TaggedRows& rows) {
  if (!word.is_string()) {
    throw Error(str_cat(location, ": a ", unit_word(unit), " that is not a string"));
  }
  if (!tag.is_string() && !tag.is_number_integer()) {
    throw Error(str_cat(location, ": a tag that is neither a string nor an integer"));
  }
  const std::string name = tag.is_string() ? tag.get<std::string>() : tag.dump();
  if (name.empty()) {
    throw Error(str_cat(location, ": an empty tag, every ", unit_word(unit), " must have one"));
  }
  rows.add_word(word.get<std::string>(), name, tag.is_number_integer(), line);
}

void add_sentence(const Json& words,
                  const Json& tags,
                  int64_t line,
                  const std::string& location,
                  TaggedUnit unit,
                  TaggedRows& rows) {
  if (words.size() != tags.size()) {
    throw Error(str_cat(location, ": ", words.size(), " ", unit_word(unit), "s and ", tags.size(),
                        " tags, must be one tag per ", unit_word(unit)));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    add_word(words[i], tags[i], line, location, unit, rows);
  }
  if (words.empty()) {
    rows.count_empty();
  }
  rows.end_sentence();
}

std::string list_column(const std::optional<std::string>& named,
                        const Names& default_names,
                        const Names& columns) {
  return named ? *named
               : formats::first_column(default_names, columns).value_or(default_names.front());
}

/// Parses a list as the table reader returns it, of strings.
Json parse_list(const std::optional<std::string>& field,
                const std::string& column,
                const std::string& location) {
  auto list = field ? Json::parse(*field, nullptr, false) : Json();
  if (!list.is_array()) {
    throw Error(str_cat(location, ": ", quoted_text(column),
                        field ? " is not a list" : " is null, must be a list"));
  }
  return list;
}

/// Tags that are integers become numbers, as in JSON lines.
void restore_integers(Json& tags) {
  for (auto& tag : tags) {
    auto number = tag.is_string() ? Json::parse(tag.get<std::string>(), nullptr, false) : Json();
    if (number.is_number_integer()) {
      tag = std::move(number);
    }
  }
}

/// Keys of the first row; empty if it is not an object, which the readers report.
Names first_keys(const std::string& file) {
  formats::LineReader lines(file);
  std::string_view line;
  while (lines.next(line) && trim(line).empty()) {
  }
  const auto row = Json::parse(line, nullptr, false);
  Names keys;
  if (row.is_object()) {
    for (const auto& [key, value] : row.items()) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace

TaggedUnit find_tagged_unit(const std::string& file) {
  const auto kind = formats::table_kind(file);
  Names keys;
  if (kind == formats::TableKind::kJsonl) {
    keys = first_keys(file);
  } else if (kind == formats::TableKind::kParquet) {
    keys = formats::read_column_names(file, *kind);
  }
  return formats::first_column(kSentenceLists, keys) && !formats::first_column(kWordLists, keys)
             ? TaggedUnit::kSentence
             : TaggedUnit::kWord;
}

void read_tagged_json(const DataItem& item,
                      const std::string& file,
                      TaggedRows& rows,
                      TaggedUnit unit) {
  formats::LineReader lines(file);
  for (std::string_view line; lines.next(line);) {
    if (trim(line).empty()) {
      rows.count_blank();
      continue;
    }
    const std::string location = lines.location();
    const Json row = formats::parse_json(line, location);
    if (!row.is_object()) {
      throw Error(str_cat(location, ": not a JSON object"));
    }
    add_sentence(list_of(row, item.text, unit_lists(unit), location),
                 list_of(row, item.label, kTagLists, location), lines.number(), location, unit,
                 rows);
  }
}

void read_tagged_parquet(const DataItem& item,
                         const std::string& file,
                         TaggedRows& rows,
                         TaggedUnit unit) {
  constexpr auto kKind = formats::TableKind::kParquet;
  const auto columns = formats::read_column_names(file, kKind);
  const Names wanted = {list_column(item.text, unit_lists(unit), columns),
                        list_column(item.label, kTagLists, columns)};
  formats::TableReader table(file, kKind, wanted, {.lists = wanted});
  int64_t row = 0;
  for (std::vector<std::optional<std::string>> fields; table.next(fields);) {
    const auto location = table.location();
    const auto words = parse_list(fields[0], wanted[0], location);
    auto tags = parse_list(fields[1], wanted[1], location);
    restore_integers(tags);
    add_sentence(words, tags, ++row, location, unit, rows);
  }
}

}  // namespace weft::data
