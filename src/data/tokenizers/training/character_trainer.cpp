#include <algorithm>
#include <map>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

constexpr const char* kCharacterTokenizerPlace = "tokenizer";

/// The most frequent characters, in code point order, which is also their byte order.
std::vector<std::string> characters_of(const std::vector<std::string>& texts,
                                       std::size_t max_characters) {
  std::map<std::string, int64_t, std::less<>> counts;
  for (const std::string& line : texts) {
    const std::string whole = utf8::replace_invalid(line);
    for (std::size_t begin = 0; begin < whole.size();) {
      std::size_t end = begin;
      utf8::next(whole, end);
      const std::string_view character(whole.data() + begin, end - begin);
      const auto found = counts.find(character);
      found == counts.end() ? counts.emplace(character, 1).first->second : ++found->second;
      begin = end;
    }
  }
  counts.emplace("\n", 1);  // texts are read line by line, without line feeds
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [character, count] : counts) {
    ranked.emplace_back(-count, character);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), max_characters));
  std::vector<std::string> kept;
  for (const auto& [count, character] : ranked) {
    kept.push_back(character);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

std::shared_ptr<const Tokenizer> train_character_tokenizer(const TokenizerOptions& options,
                                                           TokenizerTemplate style,
                                                           const std::vector<std::string>& texts) {
  const SpecialTokenLayout layout = byte_level_layout(style);
  const auto special = static_cast<int64_t>(layout.first.size());
  if (options.vocab_size <= special) {
    throw Error(str_cat("tokenizer.vocab_size: ", options.vocab_size, " is too small, there are ",
                        special, " special tokens"));
  }
  Vocabulary vocabulary;
  for (const std::string& token : layout.first) {
    vocabulary.add(token, static_cast<int32_t>(vocabulary.size()));
  }
  for (const std::string& character :
       characters_of(texts, static_cast<std::size_t>(options.vocab_size - special))) {
    vocabulary.add(character, static_cast<int32_t>(vocabulary.size()));
  }
  // Byte pair encoding without merges keeps characters separate.
  TokenizerParts parts{.document = empty_document(), .location = kCharacterTokenizerPlace};
  parts.document["decoder"] = {{"type", "Fuse"}};
  parts.document["model"] = {{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", layout.unk},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", false},
                             {"vocab", vocabulary_object(vocabulary)},
                             {"merges", formats::Json::array()}};
  parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_special_tokens(parts, style, layout, vocabulary.size());
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace weft::data
