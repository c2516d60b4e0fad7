#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "data/tokenizers/fasttext/fasttext_features.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

/// Counts of words or buckets, the most frequent first, then in their own order.
template <class Key>
std::vector<std::pair<Key, int64_t>> by_count(std::vector<std::pair<Key, int64_t>> counts,
                                              int64_t min_frequency) {
  std::erase_if(counts, [&](const auto& entry) { return entry.second < min_frequency; });
  std::ranges::sort(counts, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return counts;
}

}  // namespace

std::shared_ptr<const Tokenizer> train_fasttext_tokenizer(const TokenizerOptions& options,
                                                          const std::vector<std::string>& texts) {
  const FastTextFeatures features{.word_ngrams = options.word_ngrams,
                                  .min_chars = options.char_ngrams[0],
                                  .max_chars = options.char_ngrams[1],
                                  .lowercase = options.lowercase};
  const FastTextNgrams ngrams(features);
  std::map<std::string, int64_t, std::less<>> words;
  std::unordered_map<int64_t, int64_t> buckets;
  const auto count_bucket = [&](uint64_t bucket) { ++buckets[static_cast<int64_t>(bucket)]; };
  std::vector<uint32_t> hashes;
  const auto add = [&](std::string_view word) {
    if (const auto found = words.find(word); found != words.end()) {
      ++found->second;
    } else {
      words.emplace(word, 1);
    }
    ngrams.visit_characters(word, count_bucket);
    hashes.push_back(FastTextNgrams::hash(word));
    ngrams.visit_words(hashes, [&](uint64_t bucket, std::size_t) { count_bucket(bucket); });
  };
  for (const auto& text : texts) {
    const auto split = ngrams.words(text, /*is_tracked=*/false);
    hashes.clear();
    for (const auto& [begin, end] : split.ranges) {
      add(split.text.view().substr(begin, end - begin));
    }
    add(kFastTextEnd);
  }
  std::vector<std::string> kept;
  for (auto& [word, count] :
       by_count<std::string>({words.begin(), words.end()}, options.min_frequency)) {
    kept.push_back(word);
  }
  if (std::ranges::find(kept, kFastTextEnd) == kept.end()) {
    kept.insert(kept.begin(), std::string(kFastTextEnd));
  }
  kept.resize(std::min(kept.size(), static_cast<std::size_t>(options.vocab_size)));
  std::vector<int64_t> rows;
  for (const auto& [bucket, count] :
       by_count<int64_t>({buckets.begin(), buckets.end()}, options.min_frequency)) {
    rows.push_back(bucket);
  }
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(options.vocab_size) - kept.size()));
  return make_fasttext_tokenizer(features, kept,
                                 std::make_shared<std::vector<int64_t>>(std::move(rows)));
}

}  // namespace weft::data
