// vocab.txt and, after a line `-----`, the tokenizer_config.json of the same directory.
#include "fuzz/target.h"
#include "fuzz/targets.h"
#include "fuzz/tokenizer_reading.h"

namespace weft::fuzz {

void vocab_txt(std::string_view input) {
  const auto config = part_of(input, 1);
  scratch_file("tokenizer_config.json", config.empty() ? "{}" : config);
  use_tokenizer(scratch_file("vocab.txt", part_of(input, 0)));
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(vocab_txt)
