#include "data/text/text_counts.h"

#include "base/stop.h"
#include "data/text/text_source.h"

namespace weft::data {

void TextCounts::add(std::string_view text) {
  bool was_space = true;
  for (const char character : text) {
    const bool is_space = character == ' ' || (character >= '\t' && character <= '\r');
    words += was_space && !is_space ? 1 : 0;
    was_space = is_space;
    const bool begins = (static_cast<unsigned char>(character) & 0xC0U) != 0x80U;
    characters += begins ? 1 : 0;
  }
  bytes += static_cast<double>(text.size());
}

std::array<double, kTextCounts> values_of(const TextCounts& counts) {
  return {counts.words, counts.characters, counts.bytes};
}

TextCounts text_counts(const std::array<double, kTextCounts>& values) {
  return {.words = values[0], .characters = values[1], .bytes = values[2]};
}

TextCounts count_texts(const DataItem& item, const DataOptions& options) {
  TextCounts counts;
  TextReader reader(item, options);
  for (TextLine line; reader.next(line);) {
    throw_if_stopped("counting words");
    counts.add(line.text);
  }
  return counts;
}

}  // namespace weft::data
