#include "data/datasets/sentence_encoder.h"

#include <algorithm>
#include <string>

#include "base/string_util.h"
#include "data/error.h"
#include "data/text/text_source.h"

namespace weft::data {

namespace {

/// Visits the sentences of a text of several lines.
void visit_text_sentences(std::string_view text,
                          const std::function<void(std::string_view)>& visit) {
  visit_text(text, [&](std::string_view valid) {
    for (std::size_t begin = 0; begin <= valid.size();) {
      const auto end = std::min(valid.find('\n', begin), valid.size());
      visit_sentences(valid.substr(begin, end - begin), SentenceBoundary::kPunctuation, visit);
      begin = end + 1;
    }
  });
}

}  // namespace

SentenceEncoder::SentenceEncoder(const Tokenizer& tokenizer, const SentenceLimits& limits)
    : tokenizer_(tokenizer), limits_(limits), template_(tokenizer, /*is_pair=*/false) {
  if (template_.after().empty()) {
    throw Error(
        "model.document: the tokenizer adds no token behind a text, such as [SEP], which would end "
        "a sentence");
  }
  const auto special = template_.num_special_tokens();
  if (std::min(limits.sentence_length, limits.length) <= special) {
    throw Error(
        str_cat("model.document.sentence_length: ", std::min(limits.sentence_length, limits.length),
                " tokens, must be larger than the number of special tokens (", special, ")"));
  }
}

bool SentenceEncoder::encode(std::string_view text, std::vector<int32_t>& ids) const {
  const auto special = template_.num_special_tokens();
  const auto end = static_cast<int32_t>(template_.after().back());
  bool is_shortened = false;
  int64_t sentences = 0;
  int64_t left = limits_.length;  // tokens, of the special ones too
  visit_text_sentences(text, [&](std::string_view sentence) {
    if (sentences == limits_.sentences || left <= special) {
      is_shortened = true;
      return;
    }
    std::vector<int32_t> own;
    tokenizer_.encode(sentence, own);
    std::erase(own, end);  // written in the text
    if (own.empty()) {
      return;
    }
    const auto kept = std::min(std::ssize(own), std::min(limits_.sentence_length, left) - special);
    is_shortened = is_shortened || kept < std::ssize(own);
    own.resize(static_cast<std::size_t>(kept));
    if (sentences > 0) {
      ids.insert(ids.end(), template_.after().begin(), template_.after().end());
      ids.insert(ids.end(), template_.before().begin(), template_.before().end());
    }
    ids.insert(ids.end(), own.begin(), own.end());
    left -= kept + special;
    ++sentences;
  });
  return is_shortened;
}

std::vector<int64_t> sentence_lengths(const std::vector<int64_t>& ids,
                                      const SequenceTemplate& around) {
  std::vector<int64_t> lengths;
  int64_t begin = 0;
  for (int64_t i = 0; i < std::ssize(ids); ++i) {
    if (ids[static_cast<std::size_t>(i)] == around.after().back()) {
      lengths.push_back(i + 1 - begin);
      begin = i + 1;
    }
  }
  if (begin < std::ssize(ids)) {
    lengths.push_back(std::ssize(ids) - begin);
  }
  return lengths;
}

}  // namespace weft::data
