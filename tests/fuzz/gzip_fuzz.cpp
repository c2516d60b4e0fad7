// Compressed text: damaged members, and decompression bombs.
#include "formats/line_reader.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void gzip(std::string_view input) {
  const auto path = scratch_file("input.txt.gz", input);
  try_reading([&] {
    formats::LineReader reader(path,
                               formats::LineOptions{.max_line_bytes = 4096, .splits_long = true});
    for (std::string_view line; reader.next(line);) {
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(gzip)
