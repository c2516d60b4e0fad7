#include <algorithm>
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

std::shared_ptr<const Tokenizer> train_word_level_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report) {
  const SpecialTokenLayout layout = byte_level_layout(style);
  TokenizerParts parts{.document = empty_document(), .location = kWordLevelPlace};
  parts.document["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  const formats::Json no_normalizer = {{"type", "Sequence"},
                                       {"normalizers", formats::Json::array()}};
  auto counts = count_words(
      texts, *make_normalizer(JsonFields(no_normalizer, kWordLevelPlace)),
      *make_pre_tokenizer(JsonFields(parts.document["pre_tokenizer"], kWordLevelPlace)), kMaxWords);
  report.pruned_words = counts.pruned;
  std::ranges::stable_sort(counts.words, std::greater(), &std::pair<std::string, int64_t>::second);
  Vocabulary vocabulary;
  for (const std::string& token : layout.first) {
    vocabulary.add(token, static_cast<int32_t>(vocabulary.size()));
  }
  for (const auto& [word, count] : counts.words) {
    if (count >= options.min_frequency && vocabulary.size() < options.vocab_size &&
        vocabulary.find(word) == Vocabulary::kNone) {
      vocabulary.add(word, static_cast<int32_t>(vocabulary.size()));
    }
  }
  parts.document["model"] = {{"type", "WordLevel"},
                             {"vocab", vocabulary_object(vocabulary)},
                             {"unk_token", layout.unk}};
  parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_special_tokens(parts, style, layout, vocabulary.size());
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace weft::data
