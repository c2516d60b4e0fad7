#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/stop.h"
#include "base/utf8.h"
#include "data/tokenizers/models/piece_pair.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

struct Entry {
  int64_t count = 0;
  std::vector<int32_t> words;  // words that may contain the pair
};

class WordPieceTrainer {
 public:
  WordPieceTrainer(const WordCounts& counts, const WordPieceTrainingOptions& options)
      : options_(options) {
    for (const std::string& token : options.first) {
      pieces_.find_or_add(token);
    }
    add_alphabet(counts);
    split_into_symbols(counts);
    count_pairs();
  }

  Vocabulary run() {
    int64_t step = 0;
    while (pieces_.size() < options_.vocab_size && !queue_.empty()) {
      if (++step % 256 == 0) {
        throw_if_stopped("training the tokenizer");
      }
      const PairCandidate best = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(best.pair);
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count != best.count) {
        if (count > 0) {
          queue_.push({count, best.pair});
        }
        continue;
      }
      if (count < std::max<int64_t>(1, options_.min_frequency)) {
        break;
      }
      merge(best.pair, std::move(found->second.words));
    }
    return std::move(pieces_);
  }

 private:
  struct Word {
    std::vector<int32_t> pieces;
    int64_t count = 0;
  };

  struct Character {
    char32_t code = 0;
    int64_t count = 0;
    bool is_continuation =
        false;  // occurs inside a word somewhere, so there is also a form with the prefix
  };

  static std::vector<Character> characters_of(const WordCounts& counts) {
    std::map<char32_t, Character> found;
    for (const auto& [word, count] : counts.words) {
      for (std::size_t at = 0; at < word.size();) {
        const bool is_continuation = at > 0;
        const char32_t code = utf8::next(word, at);
        Character& character = found[code];
        character.code = code;
        character.count += count;
        character.is_continuation = character.is_continuation || is_continuation;
      }
    }
    std::vector<Character> characters;
    for (const auto& [code, character] : found) {
      characters.push_back(character);
    }
    return characters;
  }

  /// Adds the most frequent characters that fit, in code point order: first all plain ones, then
  /// those inside words.
  void add_alphabet(const WordCounts& counts) {
    std::vector<Character> characters = characters_of(counts);
    std::stable_sort(characters.begin(), characters.end(),
                     [](const Character& a, const Character& b) { return a.count > b.count; });
    std::size_t kept = 0;
    for (int64_t remaining = options_.max_alphabet_pieces;
         kept < characters.size() && static_cast<int64_t>(kept) < options_.limit_alphabet; ++kept) {
      remaining -= characters[kept].is_continuation ? 2 : 1;
      if (remaining < 0) {
        break;
      }
    }
    characters.resize(kept);
    std::sort(characters.begin(), characters.end(),
              [](const Character& a, const Character& b) { return a.code < b.code; });
    for (const Character& character : characters) {
      alphabet_.emplace(character.code, pieces_.find_or_add(to_utf8(character.code)));
    }
    for (const Character& character : characters) {
      if (character.is_continuation) {
        continuation_ids_.emplace(character.code,
                                  pieces_.find_or_add(options_.prefix + to_utf8(character.code)));
      }
    }
  }

  static std::string to_utf8(char32_t code) {
    std::string text;
    utf8::append(text, code);
    return text;
  }

  /// Characters that do not fit into the alphabet are removed from the words.
  void split_into_symbols(const WordCounts& counts) {
    words_.reserve(counts.words.size());
    for (const auto& [word, count] : counts.words) {
      Word word_entry{.pieces = {}, .count = count};
      bool is_first = true;
      for (std::size_t at = 0; at < word.size();) {
        const char32_t code = utf8::next(word, at);
        const auto found = alphabet_.find(code);
        if (found != alphabet_.end()) {
          word_entry.pieces.push_back(is_first ? found->second : continuation_ids_.at(code));
        }
        is_first = false;
      }
      words_.push_back(std::move(word_entry));
    }
  }

  void count_pairs() {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const std::vector<int32_t>& pieces = words_[word].pieces;
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        update_pair({pieces[i], pieces[i + 1]}, words_[word].count, static_cast<int32_t>(word));
      }
    }
    for (const auto& [pair, entry] : pairs_) {
      queue_.push({entry.count, pair});
    }
  }

  /// Records the word if the count grows.
  void update_pair(const PiecePair& pair, int64_t count, int32_t word) {
    Entry& entry = pairs_[pair];
    entry.count += count;
    if (count > 0 && (entry.words.empty() || entry.words.back() != word)) {
      entry.words.push_back(word);
    }
  }

  void merge(const PiecePair& pair, const std::vector<int32_t> where) {
    const std::string_view left = pieces_.piece(pair.first);
    std::string_view right = pieces_.piece(pair.second);
    if (right.starts_with(options_.prefix)) {
      right.remove_prefix(options_.prefix.size());
    }
    const int32_t result = pieces_.find_or_add(std::string(left) + std::string(right));
    updated_pairs_.clear();
    for (const int32_t word : where) {
      merge_in_word(word, pair, result);
    }
    pairs_.erase(pair);
    std::sort(updated_pairs_.begin(), updated_pairs_.end());
    updated_pairs_.erase(std::unique(updated_pairs_.begin(), updated_pairs_.end()),
                         updated_pairs_.end());
    for (const PiecePair& other : updated_pairs_) {
      const auto found = pairs_.find(other);
      if (found != pairs_.end() && found->second.count > 0) {
        queue_.push({found->second.count, other});
      }
    }
  }

  void merge_in_word(int32_t word, const PiecePair& pair, int32_t result) {
    std::vector<int32_t>& pieces = words_[static_cast<std::size_t>(word)].pieces;
    const int64_t count = words_[static_cast<std::size_t>(word)].count;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      if (pieces[i] != pair.first || pieces[i + 1] != pair.second) {
        continue;
      }
      if (i > 0) {
        update_pair({pieces[i - 1], pair.first}, -count, word);
        update_pair({pieces[i - 1], result}, count, word);
        updated_pairs_.emplace_back(pieces[i - 1], result);
      }
      if (i + 2 < pieces.size()) {
        update_pair({pair.second, pieces[i + 2]}, -count, word);
        update_pair({result, pieces[i + 2]}, count, word);
        updated_pairs_.emplace_back(result, pieces[i + 2]);
      }
      pieces[i] = result;
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  const WordPieceTrainingOptions& options_;
  Vocabulary pieces_;
  std::unordered_map<char32_t, int32_t> alphabet_;  // ids of characters at the beginning of words
  std::unordered_map<char32_t, int32_t> continuation_ids_;  // and inside words
  std::vector<Word> words_;
  std::unordered_map<PiecePair, Entry, PiecePairHash> pairs_;
  std::priority_queue<PairCandidate> queue_;
  std::vector<PiecePair> updated_pairs_;  // pairs created by the current merge
};

}  // namespace

Vocabulary train_word_piece(const WordCounts& counts, const WordPieceTrainingOptions& options) {
  return WordPieceTrainer(counts, options).run();
}

}  // namespace weft::data
