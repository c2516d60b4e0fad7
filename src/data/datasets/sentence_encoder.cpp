#include "data/datasets/sentence_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

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
        "model.document: the tokenizer adds no token after a text, such as [SEP], which would end "
        "a sentence");
  }
  const auto special = template_.num_special_tokens();
  if (std::min(limits.sentence_length, limits.length) <= special) {
    throw Error(
        str_cat("model.document.sentence_length: ", std::min(limits.sentence_length, limits.length),
                " tokens, must be larger than the number of special tokens (", special, ")"));
  }
}

void SentenceEncoder::add(std::string_view sentence,
                          bool keeps_empty,
                          SentenceIds& document) const {
  const auto special = template_.num_special_tokens();
  const auto left = limits_.length - std::ssize(document.ids);
  if (std::ssize(document.lengths) == limits_.sentences || left <= special) {
    document.is_shortened = true;
    return;
  }
  std::vector<int32_t> own;
  tokenizer_.encode(sentence, own);
  std::erase(own, static_cast<int32_t>(template_.after().back()));  // written in the text
  if (own.empty() && !keeps_empty) {
    return;
  }
  const auto kept = std::min(std::ssize(own), std::min(limits_.sentence_length, left) - special);
  document.is_shortened = document.is_shortened || kept < std::ssize(own);
  auto& ids = document.ids;
  ids.insert(ids.end(), template_.before().begin(), template_.before().end());
  ids.insert(ids.end(), own.begin(), own.begin() + kept);
  ids.insert(ids.end(), template_.after().begin(), template_.after().end());
  document.lengths.push_back(kept + special);
}

SentenceIds SentenceEncoder::encode(const std::vector<std::string_view>& sentences) const {
  SentenceIds document;
  for (const auto sentence : sentences) {
    add(sentence, /*keeps_empty=*/true, document);
  }
  return document;
}

bool SentenceEncoder::encode(std::string_view text, std::vector<int32_t>& ids) const {
  SentenceIds document;
  visit_text_sentences(
      text, [&](std::string_view sentence) { add(sentence, /*keeps_empty=*/false, document); });
  if (!document.lengths.empty()) {
    ids.insert(ids.end(), document.ids.begin() + std::ssize(template_.before()),
               document.ids.end() - std::ssize(template_.after()));
  }
  return document.is_shortened;
}

void add_sentence_targets(std::vector<int64_t> lengths, Example& example) {
  int64_t end = 0;
  for (const auto length : lengths) {
    end += length;
    example.target_positions.push_back(end - 1);
  }
  example.sentence_lengths = std::move(lengths);
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
