#include <algorithm>
#include <functional>
#include <utility>

#include "base/string_util.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/tokenizer_json_parts.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

constexpr const char* kWordLevelPlace = "tokenizer";

}  // namespace

std::shared_ptr<const Tokenizer> make_word_level_tokenizer(const std::vector<std::string>& words,
                                                           TokenizerTemplate style) {
  const SpecialTokenLayout layout = byte_level_layout(style);
  Vocabulary vocabulary;
  for (const auto* list : {&layout.first, &words}) {
    for (const std::string& word : *list) {
      if (vocabulary.find(word) == Vocabulary::kNone) {
        vocabulary.add(word, static_cast<int32_t>(vocabulary.size()));
      }
    }
  }
  TokenizerParts parts{.document = empty_document(), .location = kWordLevelPlace};
  parts.document["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  parts.document["model"] = {
      {"type", "WordLevel"}, {"vocab", vocabulary_object(vocabulary)}, {"unk_token", layout.unk}};
  parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_special_tokens(parts, style, layout, vocabulary.size());
  return std::make_shared<Pipeline>(std::move(parts));
}

std::shared_ptr<const Tokenizer> train_word_level_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report) {
  const formats::Json normalizer = {{"type", "Sequence"}, {"normalizers", formats::Json::array()}};
  const formats::Json pre_tokenizer = {{"type", "WhitespaceSplit"}};
  auto counts =
      count_words(texts, *make_normalizer(JsonFields(normalizer, kWordLevelPlace)),
                  *make_pre_tokenizer(JsonFields(pre_tokenizer, kWordLevelPlace)), kMaxWords);
  report.pruned_words = counts.pruned;
  std::ranges::stable_sort(counts.words, std::greater(), &std::pair<std::string, int64_t>::second);
  const auto special = byte_level_layout(style).first;
  std::vector<std::string> words;
  for (const auto& [word, count] : counts.words) {
    if (count >= options.min_frequency && std::ranges::find(special, word) == special.end()) {
      words.push_back(word);
    }
  }
  words.resize(
      std::min(words.size(), static_cast<std::size_t>(options.vocab_size) - special.size()));
  return make_word_level_tokenizer(words, style);
}

}  // namespace weft::data
