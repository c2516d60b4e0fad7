#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/stop.h"
#include "base/utf8.h"
#include "data/tokenizers/models/piece_pair.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

template <class Value>
using PairMap = std::unordered_map<PiecePair, Value, PiecePairHash>;

/// The words that a pair entered at one time. A pair that enters further words later is queued
/// again for these, so each entry has a separate list.
struct BytePairCandidate : PairCandidate {
  std::size_t list = 0;  // index into the lists of words
};

class BytePairTrainer {
 public:
  BytePairTrainer(const WordCounts& counts, const BytePairTrainingOptions& options)
      : options_(options) {
    for (const std::string& token : options.first) {
      pieces_.find_or_add(token);
    }
    add_alphabet(counts);
    split_into_symbols(counts);
    count_pairs();
  }

  BytePairPieces run() {
    const int64_t min_count = std::max<int64_t>(1, options_.min_frequency);
    int64_t step = 0;
    while (pieces_.size() < options_.vocab_size && !queue_.empty()) {
      if (++step % 256 == 0) {
        throw_if_stopped("training the tokenizer");
      }
      BytePairCandidate best = queue_.top();
      queue_.pop();
      const int64_t count = counts_.at(best.pair);
      if (count != best.count) {
        best.count = count;
        queue_.push(best);
        continue;
      }
      if (count < min_count) {
        break;
      }
      merge(best);
    }
    return {std::move(pieces_), ranked_merges()};
  }

 private:
  struct Word {
    std::size_t begin = 0;  // in symbols_
    std::size_t size = 0;
    int64_t count = 0;
  };

  void add_alphabet(const WordCounts& counts) {
    std::set<char32_t> characters;
    const auto add_characters = [&](std::string_view text) {
      for (std::size_t at = 0; at < text.size();) {
        characters.insert(utf8::next(text, at));
      }
    };
    for (const std::string& character : options_.alphabet) {
      add_characters(character);
    }
    for (const auto& [word, count] : counts.words) {
      add_characters(word);
    }
    for (const char32_t code : characters) {
      std::string character;
      utf8::append(character, code);
      character_ids_.emplace(code, pieces_.find_or_add(character));
    }
  }

  void split_into_symbols(const WordCounts& counts) {
    words_.reserve(counts.words.size());
    for (const auto& [word, count] : counts.words) {
      Word word_entry{.begin = symbols_.size(), .size = 0, .count = count};
      for (std::size_t at = 0; at < word.size();) {
        symbols_.push_back(character_ids_.at(utf8::next(word, at)));
      }
      word_entry.size = symbols_.size() - word_entry.begin;
      words_.push_back(word_entry);
    }
  }

  void count_pairs() {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const int32_t* symbols = symbols_.data() + words_[word].begin;
      for (std::size_t i = 0; i + 1 < words_[word].size; ++i) {
        count_pair({symbols[i], symbols[i + 1]}, word);
      }
    }
    push_updated_pairs();
  }

  /// Counts an occurrence of the pair in a word.
  void count_pair(const PiecePair& pair, std::size_t word) {
    counts_[pair] += words_[word].count;
    std::vector<int32_t>& words = updated_pairs_[pair];
    if (words.empty() || words.back() != static_cast<int32_t>(word)) {
      words.push_back(static_cast<int32_t>(word));
    }
  }

  /// Queues the pairs whose count grew, with the words where it did.
  void push_updated_pairs() {
    for (auto& [pair, words] : updated_pairs_) {
      const int64_t count = counts_.at(pair);
      if (count > 0) {
        std::size_t list = word_lists_.size();
        if (free_.empty()) {
          word_lists_.emplace_back();
        } else {
          list = free_.back();
          free_.pop_back();
        }
        word_lists_[list] = std::move(words);
        queue_.push({{count, pair}, list});
      }
    }
    updated_pairs_.clear();
  }

  void merge(const BytePairCandidate& best) {
    const int32_t result = pieces_.find_or_add(std::string(pieces_.piece(best.pair.first)) +
                                               std::string(pieces_.piece(best.pair.second)));
    merges_.push_back(best.pair);
    const std::vector<int32_t> words = std::move(word_lists_[best.list]);
    word_lists_[best.list] = {};
    free_.push_back(best.list);
    for (const int32_t word : words) {
      merge_in_word(static_cast<std::size_t>(word), best.pair, result);
    }
    // The count of the merged pair is kept: `tokenizers` continues from it if the pair occurs
    // again, since the piece it forms may have been formed from other parts before.
    push_updated_pairs();
  }

  void merge_in_word(std::size_t index, const PiecePair& pair, int32_t result) {
    Word& word = words_[index];
    int32_t* symbols = symbols_.data() + word.begin;
    std::size_t size = 0;  // of what is done
    for (std::size_t i = 0; i < word.size;) {
      if (i + 1 >= word.size || symbols[i] != pair.first || symbols[i + 1] != pair.second) {
        symbols[size++] = symbols[i++];
        continue;
      }
      if (size > 0) {
        counts_[{symbols[size - 1], pair.first}] -= word.count;
        count_pair({symbols[size - 1], result}, index);
      }
      if (i + 2 < word.size) {
        counts_[{pair.second, symbols[i + 2]}] -= word.count;
        count_pair({result, symbols[i + 2]}, index);
      }
      symbols[size++] = result;
      i += 2;
    }
    word.size = size;
  }

  /// A pair that was merged twice has the rank of its second merge.
  std::vector<PiecePair> ranked_merges() const {
    PairMap<std::size_t> last;
    for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
      last[merges_[rank]] = rank;
    }
    std::vector<PiecePair> ranked;
    for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
      if (last.at(merges_[rank]) == rank) {
        ranked.push_back(merges_[rank]);
      }
    }
    return ranked;
  }

  const BytePairTrainingOptions& options_;
  Vocabulary pieces_;
  std::unordered_map<char32_t, int32_t> character_ids_;
  std::vector<int32_t> symbols_;  // of all words
  std::vector<Word> words_;
  PairMap<int64_t> counts_;
  PairMap<std::vector<int32_t>>
      updated_pairs_;  // words in which pairs grew since they were last queued
  std::vector<std::vector<int32_t>> word_lists_;
  std::vector<std::size_t> free_;  // empty lists for reuse
  std::priority_queue<BytePairCandidate> queue_;
  std::vector<PiecePair> merges_;
};

}  // namespace

BytePairPieces train_byte_pair(const WordCounts& counts, const BytePairTrainingOptions& options) {
  return BytePairTrainer(counts, options).run();
}

}  // namespace weft::data
