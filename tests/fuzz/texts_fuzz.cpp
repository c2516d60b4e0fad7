// Any bytes as a text for sound tokenizers of every kind.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/target.h"
#include "fuzz/targets.h"
#include "fuzz/tokenizer_reading.h"

namespace weft::fuzz {

void texts(std::string_view input) {
  static const auto tokenizers = [] {
    std::vector<std::shared_ptr<const data::Tokenizer>> loaded;
    const std::string folder = WEFT_SOURCE_DIR "/tests/reference/tokenizers/";
    for (const auto* name : {"bert_uncased", "gpt2", "roberta", "split_pattern", "unigram",
                             "xlm_roberta", "pieces_bytes", "t5"}) {
      loaded.push_back(data::load_tokenizer(folder + name));
    }
    return loaded;
  }();
  for (const auto& tokenizer : tokenizers) {
    try_reading([&] { use_tokenizer_on(*tokenizer, input); });
  }
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(texts)
