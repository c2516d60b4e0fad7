// A model file of fastText.
#include <stdexcept>

#include "formats/fasttext_file.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void fasttext(std::string_view input) {
  const auto path = scratch_file("input.bin", input);
  try_reading([&] {
    const auto file = formats::read_fasttext_file(path);
    for (const auto* matrix : {&file.input, &file.output}) {
      if (std::ssize(matrix->values) != matrix->rows * matrix->columns) {
        throw std::logic_error("values that do not fit the shape");
      }
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(fasttext)
