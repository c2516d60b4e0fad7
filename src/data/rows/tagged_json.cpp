#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "data/error.h"
#include "data/rows/tagged_files.h"
#include "formats/json.h"
#include "formats/lines.h"

namespace weft::data {
namespace {

using formats::Json;
using Names = std::vector<std::string>;

/// The list under the key that the item names, else under the first of the usual ones.
const Json& list_of(const Json& row,
                    const std::optional<std::string>& named,
                    const Names& usual,
                    const std::string& place) {
  const Names keys = named ? Names{*named} : usual;
  for (const std::string& key : keys) {
    if (const auto found = row.find(key); found != row.end()) {
      if (!found->is_array()) {
        throw Error(text(place, ": \"", key, "\" is not a list"));
      }
      return *found;
    }
  }
  throw Error(text(place, ": no list ", join(keys, " or "), ", every row must have one"));
}

void add_word(
    const Json& word, const Json& tag, int64_t line, const std::string& place, TaggedRows& rows) {
  if (!word.is_string()) {
    throw Error(text(place, ": a word that is not a string"));
  }
  if (!tag.is_string() && !tag.is_number_integer()) {
    throw Error(text(place, ": a tag that is neither a name nor a whole number"));
  }
  const std::string name = tag.is_string() ? tag.get<std::string>() : tag.dump();
  if (name.empty()) {
    throw Error(text(place, ": an empty tag, every word must have one"));
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
    const std::string place = lines.place();
    const Json row = formats::parse_json(line, place);
    if (!row.is_object()) {
      throw Error(text(place, ": not a JSON object"));
    }
    const Json& words = list_of(row, item.text, {"words", "tokens"}, place);
    const Json& tags = list_of(row, item.label, {"labels", "tags", "ner_tags"}, place);
    if (words.size() != tags.size()) {
      throw Error(text(place, ": ", words.size(), " words and ", tags.size(),
                       " tags, there must be one tag a word"));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      add_word(words[i], tags[i], lines.number(), place, rows);
    }
    if (words.empty()) {
      rows.count_empty();
    }
    rows.end_sentence();
  }
}

}  // namespace weft::data
