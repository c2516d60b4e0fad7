// Plain text in any encoding, split into lines, documents and sentences.
#include <stdexcept>

#include "base/utf8.h"
#include "data/text/text_source.h"
#include "formats/line_reader.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void lines(std::string_view input) {
  const auto path = scratch_file("input.txt", input);
  for (const bool splits_long : {false, true}) {
    try_reading([&] {
      formats::LineReader reader(
          path, formats::LineOptions{.max_line_bytes = 256, .splits_long = splits_long});
      std::size_t bytes = 0;
      for (std::string_view line; reader.next(line);) {
        bytes += line.size();
      }
      if (bytes > input.size()) {
        throw std::logic_error("more text than the file holds");
      }
    });
  }
  try_reading([&] {
    data::DataItem item;
    item.path = path;
    item.files = {path};
    data::TextReader reader(item, {});
    for (data::TextLine line; reader.next(line);) {
      data::visit_text(line.text, [](std::string_view whole) {
        if (utf8::first_invalid(whole)) {
          throw std::logic_error("a repaired text is not UTF-8");
        }
        for (const auto border :
             {data::SentenceBoundary::kLine, data::SentenceBoundary::kPunctuation}) {
          data::visit_sentences(whole, border, [](std::string_view) {});
        }
      });
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(lines)
