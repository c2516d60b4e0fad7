#include "data/tokenizers/training/word_counts.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/stop.h"
#include "base/threads.h"
#include "data/tokenizers/vocabulary.h"

namespace weft::data {

namespace {

struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const { return text_hash(word); }
};
using WordCountTable = std::unordered_map<std::string, int64_t, WordHash, std::equal_to<>>;

constexpr std::size_t kRoundBytes = std::size_t{32}
                                    << 20;  // of text, between two looks at the table's size
constexpr int64_t kWordCountGrain = 512;    // texts

void count_piece(const std::vector<std::string>& texts,
                 std::size_t begin,
                 std::size_t end,
                 const Normalizer& normalizer,
                 const PreTokenizer& pre_tokenizer,
                 WordCountTable& table) {
  Words words;
  for (std::size_t i = begin; i < end; ++i) {
    words.text.assign(texts[i], false);
    normalizer.apply(words.text);
    words.ranges.assign(1, {0, words.text.size()});
    pre_tokenizer.apply(words);
    for (const TextRange& range : words.ranges) {
      const std::string_view word = words.text.view().substr(range.begin, range.end - range.begin);
      const auto found = table.find(word);
      if (found != table.end()) {
        ++found->second;
      } else {
        table.emplace(word, 1);
      }
    }
  }
}

/// Discards the rarest words until the table has at most max_words.
int64_t prune(WordCountTable& table, int64_t max_words) {
  const std::size_t before = table.size();
  for (int64_t rare = 1; static_cast<int64_t>(table.size()) > max_words; ++rare) {
    std::erase_if(table, [&](const auto& word) { return word.second <= rare; });
  }
  return static_cast<int64_t>(before - table.size());
}

}  // namespace

WordCounts count_words(const std::vector<std::string>& texts,
                       const Normalizer& normalizer,
                       const PreTokenizer& pre_tokenizer,
                       int64_t max_words) {
  WordCounts counts;
  WordCountTable whole;
  std::mutex guard;
  for (std::size_t begin = 0; begin < texts.size();) {
    throw_if_stopped("counting words");
    std::size_t end = begin;
    for (std::size_t bytes = 0; end < texts.size() && bytes < kRoundBytes; ++end) {
      bytes += texts[end].size();
    }
    parallel_for(
        static_cast<int64_t>(end - begin), kWordCountGrain, [&](int64_t first, int64_t last) {
          WordCountTable part;
          count_piece(texts, begin + static_cast<std::size_t>(first),
                      begin + static_cast<std::size_t>(last), normalizer, pre_tokenizer, part);
          const std::lock_guard lock(guard);
          for (auto& [word, count] : part) {
            whole[word] += count;
          }
        });
    if (static_cast<int64_t>(whole.size()) > 2 * max_words) {
      counts.pruned += prune(whole, max_words);
    }
    begin = end;
  }
  counts.pruned += prune(whole, max_words);
  counts.words.assign(whole.begin(), whole.end());
  std::sort(counts.words.begin(), counts.words.end());
  return counts;
}

}  // namespace weft::data
