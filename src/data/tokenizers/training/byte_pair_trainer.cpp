#include "data/tokenizers/training/byte_pair_trainer.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/stop.h"
#include "base/utf8.h"
#include "data/tokenizers/models/piece_pair.h"

namespace weft::data {

namespace {

template <class Value>
using PairMap = std::unordered_map<PiecePair, Value, PiecePairHash>;

/// The words that a pair came into at one time. A pair that comes into further words later waits
/// once more for them, so each entry has its own list.
struct BytePairCandidate : PairCandidate {
  std::size_t where = 0;  // index into the lists of words
};

class BytePairTrainer {
 public:
  BytePairTrainer(const WordCounts& counts, const BytePairTraining& options) : options_(options) {
    for (const std::string& token : options.first) {
      add(token);
    }
    add_alphabet(counts);
    spell_words(counts);
    count_pairs();
  }

  BytePairPieces run() {
    const int64_t least = std::max<int64_t>(1, options_.min_frequency);
    int64_t step = 0;
    while (pieces_.size() < options_.vocab_size && !waiting_.empty()) {
      if (++step % 256 == 0) {
        leave_if_stopped("training the tokenizer");
      }
      BytePairCandidate best = waiting_.top();
      waiting_.pop();
      const int64_t count = counts_.at(best.pair);
      if (count != best.count) {
        best.count = count;
        waiting_.push(best);
        continue;
      }
      if (count < least) {
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

  int32_t add(std::string_view piece) {
    const int32_t known = pieces_.find(piece);
    if (known != Vocabulary::kNone) {
      return known;
    }
    const auto id = static_cast<int32_t>(pieces_.size());
    pieces_.add(piece, id);
    return id;
  }

  void add_alphabet(const WordCounts& counts) {
    std::set<char32_t> signs;
    const auto see = [&](std::string_view text) {
      for (std::size_t at = 0; at < text.size();) {
        signs.insert(utf8::next(text, at));
      }
    };
    for (const std::string& sign : options_.alphabet) {
      see(sign);
    }
    for (const auto& [word, count] : counts.words) {
      see(word);
    }
    for (const char32_t code : signs) {
      std::string sign;
      utf8::append(sign, code);
      ids_of_signs_.emplace(code, add(sign));
    }
  }

  void spell_words(const WordCounts& counts) {
    words_.reserve(counts.words.size());
    for (const auto& [word, count] : counts.words) {
      Word spelt{.begin = symbols_.size(), .size = 0, .count = count};
      for (std::size_t at = 0; at < word.size();) {
        symbols_.push_back(ids_of_signs_.at(utf8::next(word, at)));
      }
      spelt.size = symbols_.size() - spelt.begin;
      words_.push_back(spelt);
    }
  }

  void count_pairs() {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const int32_t* symbols = symbols_.data() + words_[word].begin;
      for (std::size_t i = 0; i + 1 < words_[word].size; ++i) {
        grow({symbols[i], symbols[i + 1]}, word);
      }
    }
    offer_grown();
  }

  /// One more of the pair in a word.
  void grow(const PiecePair& pair, std::size_t word) {
    counts_[pair] += words_[word].count;
    std::vector<int32_t>& words = grown_[pair];
    if (words.empty() || words.back() != static_cast<int32_t>(word)) {
      words.push_back(static_cast<int32_t>(word));
    }
  }

  /// Pairs whose number grew wait to be merged where it did.
  void offer_grown() {
    for (auto& [pair, words] : grown_) {
      const int64_t count = counts_.at(pair);
      if (count > 0) {
        std::size_t where = lists_.size();
        if (free_.empty()) {
          lists_.emplace_back();
        } else {
          where = free_.back();
          free_.pop_back();
        }
        lists_[where] = std::move(words);
        waiting_.push({{count, pair}, where});
      }
    }
    grown_.clear();
  }

  void merge(const BytePairCandidate& best) {
    const int32_t made = add(std::string(pieces_.piece(best.pair.first)) +
                             std::string(pieces_.piece(best.pair.second)));
    merges_.push_back(best.pair);
    const std::vector<int32_t> words = std::move(lists_[best.where]);
    lists_[best.where] = {};
    free_.push_back(best.where);
    for (const int32_t word : words) {
      merge_in(static_cast<std::size_t>(word), best.pair, made);
    }
    // The count of the merged pair stays: `tokenizers` goes on from it where the pair comes up
    // again, as the piece that it makes may have been made of other parts before.
    offer_grown();
  }

  void merge_in(std::size_t index, const PiecePair& pair, int32_t made) {
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
        grow({symbols[size - 1], made}, index);
      }
      if (i + 2 < word.size) {
        counts_[{pair.second, symbols[i + 2]}] -= word.count;
        grow({made, symbols[i + 2]}, index);
      }
      symbols[size++] = made;
      i += 2;
    }
    word.size = size;
  }

  /// A pair that was merged twice has the rank of the second time.
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

  const BytePairTraining& options_;
  Vocabulary pieces_;
  std::unordered_map<char32_t, int32_t> ids_of_signs_;
  std::vector<int32_t> symbols_;  // of all words
  std::vector<Word> words_;
  PairMap<int64_t> counts_;
  PairMap<std::vector<int32_t>> grown_;  // words in which pairs grew since they were last offered
  std::vector<std::vector<int32_t>> lists_;
  std::vector<std::size_t> free_;  // lists that are empty again
  std::priority_queue<BytePairCandidate> waiting_;
  std::vector<PiecePair> merges_;
};

}  // namespace

BytePairPieces train_byte_pair(const WordCounts& counts, const BytePairTraining& options) {
  return BytePairTrainer(counts, options).run();
}

}  // namespace weft::data
