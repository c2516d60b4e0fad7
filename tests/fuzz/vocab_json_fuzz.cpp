// vocab.json and, each after a line `-----`, merges.txt and tokenizer_config.json of the same
// directory.
#include "fuzz/target.h"
#include "fuzz/targets.h"
#include "fuzz/tokenizer_reading.h"

namespace weft::fuzz {

void vocab_json(std::string_view input) {
  const auto config = part_of(input, 2);
  scratch_file("tokenizer_config.json", config.empty() ? "{}" : config);
  scratch_file("merges.txt", part_of(input, 1));
  use_tokenizer(scratch_file("vocab.json", part_of(input, 0)));
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(vocab_json)
