// Word vectors as text.
#include <cmath>
#include <stdexcept>

#include "formats/word_vectors.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void word_vectors(std::string_view input) {
  const auto path = scratch_file("input.vec", input);
  try_reading([&] {
    formats::read_word_vectors(path, [](std::string_view word, std::span<const float> vector) {
      if (word.empty() || !std::isfinite(vector.front())) {
        throw std::logic_error("a damaged word");
      }
      return true;
    });
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(word_vectors)
