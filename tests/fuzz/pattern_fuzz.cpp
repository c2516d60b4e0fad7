// A regular expression of a tokenizer and, after a line `-----`, the text that it splits.
#include <stdexcept>

#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/pre_tokenizers/pattern.h"
#include "formats/json.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void pattern(std::string_view input) {
  const auto text = part_of(input, 1);
  try_reading([&] {
    const formats::Json json = {{"Regex", part_of(input, 0)}};
    const data::Pattern expression(data::JsonFields(json, "fuzzed"));
    std::size_t bytes = 0;
    for (const auto& part : expression.split(text)) {
      bytes += part.range.end - part.range.begin;
    }
    if (bytes != text.size()) {
      throw std::logic_error("the parts are not the text");
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(pattern)
