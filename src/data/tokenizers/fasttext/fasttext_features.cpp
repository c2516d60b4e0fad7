#include "data/tokenizers/fasttext/fasttext_features.h"

#include "base/utf8.h"
#include "data/tokenizers/documents.h"

namespace weft::data {

namespace {

constexpr std::string_view kSpaces{" \n\r\t\v\f\0", 7};  // as fastText has them

}  // namespace

FastTextNgrams::FastTextNgrams(const FastTextFeatures& features) : features_(features) {
  if (features.lowercase) {
    const auto normalizer = bert_normalizer({.lowercase = true, .strip_accents = false});
    const formats::Json pre_tokenizer = {{"type", "BertPreTokenizer"}};
    normalizer_ = make_normalizer(JsonFields(normalizer, "fasttext"));
    pre_tokenizer_ = make_pre_tokenizer(JsonFields(pre_tokenizer, "fasttext"));
  }
}

Words FastTextNgrams::words(std::string_view text, bool is_tracked) const {
  Words words{.text = utf8::first_invalid(text) ? repaired_text(text, is_tracked)
                                                : AlignedText(text, is_tracked),
              .ranges = {},
              .is_first = true};
  if (normalizer_) {
    normalizer_->apply(words.text);
    if (words.text.size() > 0) {
      words.ranges = {{0, words.text.size()}};
      pre_tokenizer_->apply(words);
    }
    return words;
  }
  const auto bytes = words.text.view();
  for (std::size_t begin = 0; (begin = bytes.find_first_not_of(kSpaces, begin)) < bytes.size();) {
    const auto end = std::min(bytes.find_first_of(kSpaces, begin), bytes.size());
    words.ranges.push_back({begin, end});
    begin = end;
  }
  return words;
}

uint32_t FastTextNgrams::hash(std::string_view word) {
  uint32_t value = 2166136261U;
  for (const char byte : word) {
    value = (value ^ static_cast<uint32_t>(int32_t{static_cast<int8_t>(byte)})) * 16777619U;
  }
  return value;
}

}  // namespace weft::data
