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

SentenceEncoder::Tokens SentenceEncoder::tokens_of(std::string_view sentence, int64_t left) const {
  Tokens own;
  tokenizer_.encode(sentence, own.ids);
  std::erase(own.ids, static_cast<int32_t>(template_.after().back()));  // written in the text
  const auto kept = std::min(std::ssize(own.ids), std::min(limits_.sentence_length, left) -
                                                      template_.num_special_tokens());
  own.is_shortened = kept < std::ssize(own.ids);
  own.ids.resize(static_cast<std::size_t>(kept));
  return own;
}

SentenceEncoder::Document SentenceEncoder::encode(
    const std::vector<std::string_view>& sentences) const {
  const auto special = template_.num_special_tokens();
  Document document;
  for (const auto sentence : sentences) {
    const auto left = limits_.length - std::ssize(document.ids);
    if (std::ssize(document.lengths) == limits_.sentences || left <= special) {
      document.is_shortened = true;
      break;
    }
    const auto own = tokens_of(sentence, left);
    document.is_shortened = document.is_shortened || own.is_shortened;
    auto& ids = document.ids;
    ids.insert(ids.end(), template_.before().begin(), template_.before().end());
    ids.insert(ids.end(), own.ids.begin(), own.ids.end());
    ids.insert(ids.end(), template_.after().begin(), template_.after().end());
    document.lengths.push_back(std::ssize(own.ids) + special);
  }
  return document;
}

bool SentenceEncoder::encode(std::string_view text, std::vector<int32_t>& ids) const {
  const auto special = template_.num_special_tokens();
  bool is_shortened = false;
  int64_t sentences = 0;
  int64_t left = limits_.length;  // tokens, of the special ones too
  visit_text_sentences(text, [&](std::string_view sentence) {
    if (sentences == limits_.sentences || left <= special) {
      is_shortened = true;
      return;
    }
    const auto own = tokens_of(sentence, left);
    if (own.ids.empty()) {
      return;
    }
    is_shortened = is_shortened || own.is_shortened;
    if (sentences > 0) {
      ids.insert(ids.end(), template_.after().begin(), template_.after().end());
      ids.insert(ids.end(), template_.before().begin(), template_.before().end());
    }
    ids.insert(ids.end(), own.ids.begin(), own.ids.end());
    left -= std::ssize(own.ids) + special;
    ++sentences;
  });
  return is_shortened;
}

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> sentences;
  visit_text_sentences(text, [&](std::string_view sentence) { sentences.emplace_back(sentence); });
  return sentences;
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
