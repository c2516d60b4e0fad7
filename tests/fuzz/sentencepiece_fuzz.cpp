// A .model file, on its own (read by libsentencepiece) and as part of a directory.
#include <filesystem>

#include "fuzz/target.h"
#include "fuzz/targets.h"
#include "fuzz/tokenizer_reading.h"

namespace weft::fuzz {

void sentencepiece(std::string_view input) {
  use_tokenizer(scratch_file("input.model", input));
  static const std::string folder = [] {
    auto made = scratch_folder() + "/directory";
    std::filesystem::create_directory(made);
    return made;
  }();
  scratch_file("directory/spiece.model", input);
  use_tokenizer(folder);
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(sentencepiece)
