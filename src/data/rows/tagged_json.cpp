#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/string_util.h"
#include "data/error.h"
#include "data/rows/tagged_rows.h"
#include "formats/json.h"
#include "formats/line_reader.h"

namespace weft::data {
namespace {

using formats::Json;
using Names = std::vector<std::string>;

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
  throw Error(str_cat(location, ": no list ", join(keys, " or "), ", every row must have one"));
}

void add_word(const Json& word,
              const Json& tag,
              int64_t line,
              const std::string& location,
              TaggedRows& rows) {
  if (!word.is_string()) {
    throw Error(str_cat(location, ": a word that is not a string"));
  }
  if (!tag.is_string() && !tag.is_number_integer()) {
    throw Error(str_cat(location, ": a tag that is neither a string nor an integer"));
  }
  const std::string name = tag.is_string() ? tag.get<std::string>() : tag.dump();
  if (name.empty()) {
    throw Error(str_cat(location, ": an empty tag, every word must have one"));
  }
  rows.add_word(word.get<std::string>(), name, tag.is_number_integer(), line);
}

}  // namespace

void read_tagged_json(const DataItem& item, const std::string& file, TaggedRows& rows) {
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
    const Json& words = list_of(row, item.text, {"words", "tokens"}, location);
    const Json& tags = list_of(row, item.label, {"labels", "tags", "ner_tags"}, location);
    if (words.size() != tags.size()) {
      throw Error(str_cat(location, ": ", words.size(), " words and ", tags.size(),
                          " tags, must be one tag per word"));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      add_word(words[i], tags[i], lines.number(), location, rows);
    }
    if (words.empty()) {
      rows.count_empty();
    }
    rows.end_sentence();
  }
}

}  // namespace weft::data
