#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

/// Which features of a text fastText's classifier reads (arXiv:1607.01759, arXiv:1607.04606).
struct FastTextFeatures {
  int64_t word_ngrams = 1;      // words of the longest n-gram
  int64_t min_chars = 0;        // characters of the shortest and the longest character n-gram,
  int64_t max_chars = 0;        // 0: none
  int64_t buckets = 2'000'000;  // hash values of n-grams; fastText's default
  bool lowercase = false;       // lowercases, and separates punctuation from words
};

/// The word at the end of each text.
inline constexpr std::string_view kFastTextEnd = "</s>";

/// The n-grams of texts, by fastText's hash functions. Immutable.
class FastTextNgrams {
 public:
  explicit FastTextNgrams(const FastTextFeatures& features);

  const FastTextFeatures& features() const { return features_; }

  /// Lowercases a text and splits it into words, in place. Ill-formed UTF-8 becomes U+FFFD.
  Words words(std::string_view text, bool is_tracked) const;

  /// fastText's hash of a word: 32-bit FNV-1a of its bytes as signed numbers.
  static uint32_t hash(std::string_view word);
  /// Calls `visit(bucket)` for each character n-gram of the word between `<` and `>`.
  template <class Visit>
  void visit_characters(std::string_view word, const Visit& visit) const;
  /// Calls `visit(bucket, first)` for each n-gram of two words and more that ends with the last of
  /// `hashes`; `first`: the index of its first word.
  template <class Visit>
  void visit_words(const std::vector<uint32_t>& hashes, const Visit& visit) const;

 private:
  FastTextFeatures features_;
  std::unique_ptr<Normalizer> normalizer_;       // null: none
  std::unique_ptr<PreTokenizer> pre_tokenizer_;  // null: words between ASCII white space
};

template <class Visit>
void FastTextNgrams::visit_characters(std::string_view word, const Visit& visit) const {
  if (features_.max_chars == 0 || features_.buckets == 0 || word == kFastTextEnd) {
    return;
  }
  const auto is_continuation = [](char byte) { return (byte & 0xC0) == 0x80; };
  const auto text = "<" + std::string(word) + ">";
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (is_continuation(text[begin])) {
      continue;
    }
    auto end = begin;
    for (int64_t count = 1; end < text.size() && count <= features_.max_chars; ++count) {
      do {
        ++end;
      } while (end < text.size() && is_continuation(text[end]));
      const bool is_bracket = count == 1 && (begin == 0 || end == text.size());
      if (count >= features_.min_chars && !is_bracket) {
        visit(hash(std::string_view(text).substr(begin, end - begin)) %
              static_cast<uint64_t>(features_.buckets));
      }
    }
  }
}

template <class Visit>
void FastTextNgrams::visit_words(const std::vector<uint32_t>& hashes, const Visit& visit) const {
  constexpr uint64_t kFactor = 116049371;
  const auto signed_hash = [&](std::size_t i) {
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(hashes[i])});
  };
  if (features_.buckets == 0) {
    return;
  }
  const auto last = hashes.size();
  for (std::size_t n = 2; n <= std::min(last, static_cast<std::size_t>(features_.word_ngrams));
       ++n) {
    auto value = signed_hash(last - n);
    for (auto i = last - n + 1; i < last; ++i) {
      value = value * kFactor + signed_hash(i);
    }
    visit(value % static_cast<uint64_t>(features_.buckets), last - n);
  }
}

/// A tokenizer whose tokens are the features of a text: its words, then the hash buckets of its
/// n-grams. Unknown words have n-grams only. `bucket_rows`: the buckets that have an id, in the
/// order of the ids; null: all have one.
std::shared_ptr<const Tokenizer> make_fasttext_tokenizer(
    const FastTextFeatures& features,
    const std::vector<std::string>& words,
    std::shared_ptr<const std::vector<int64_t>> bucket_rows);

/// Whether the directory contains fasttext.json.
bool has_fasttext_tokenizer(const std::string& directory);
/// Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_fasttext_tokenizer(const std::string& directory);

}  // namespace weft::data
