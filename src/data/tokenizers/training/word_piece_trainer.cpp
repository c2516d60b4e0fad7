#include "data/tokenizers/training/word_piece_trainer.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "base/stop.h"
#include "base/utf8.h"
#include "data/tokenizers/models/piece_pair.h"

namespace weft::data {

namespace {

struct Entry {
  int64_t count = 0;
  std::vector<int32_t> words;  // where the pair may stand
};

class WordPieceTrainer {
 public:
  WordPieceTrainer(const WordCounts& counts, const WordPieceTraining& options) : options_(options) {
    for (const std::string& token : options.first) {
      add(token);
    }
    add_alphabet(counts);
    spell_words(counts);
    count_pairs();
  }

  Vocabulary run() {
    int64_t step = 0;
    while (pieces_.size() < options_.vocab_size && !waiting_.empty()) {
      if (++step % 256 == 0) {
        leave_if_stopped("training the tokenizer");
      }
      const PairCandidate best = waiting_.top();
      waiting_.pop();
      const auto found = pairs_.find(best.pair);
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count != best.count) {
        if (count > 0) {
          waiting_.push({count, best.pair});
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

  int32_t add(std::string_view piece) {
    const int32_t known = pieces_.find(piece);
    if (known != Vocabulary::kNone) {
      return known;
    }
    const auto id = static_cast<int32_t>(pieces_.size());
    pieces_.add(piece, id);
    return id;
  }

  struct Character {
    char32_t code = 0;
    int64_t count = 0;
    bool is_inner =
        false;  // stands within a word somewhere, so there is a form with the prefix too
  };

  static std::vector<Character> characters_of(const WordCounts& counts) {
    std::map<char32_t, Character> found;
    for (const auto& [word, count] : counts.words) {
      for (std::size_t at = 0; at < word.size();) {
        const bool is_inner = at > 0;
        const char32_t code = utf8::next(word, at);
        Character& character = found[code];
        character.code = code;
        character.count += count;
        character.is_inner = character.is_inner || is_inner;
      }
    }
    std::vector<Character> characters;
    for (const auto& [code, character] : found) {
      characters.push_back(character);
    }
    return characters;
  }

  /// The commonest characters that there is room for, in the order of their code points: all by
  /// themselves, then those within words.
  void add_alphabet(const WordCounts& counts) {
    std::vector<Character> characters = characters_of(counts);
    std::stable_sort(characters.begin(), characters.end(),
                     [](const Character& a, const Character& b) { return a.count > b.count; });
    std::size_t kept = 0;
    for (int64_t room = options_.alphabet_room;
         kept < characters.size() && static_cast<int64_t>(kept) < options_.most_characters;
         ++kept) {
      room -= characters[kept].is_inner ? 2 : 1;
      if (room < 0) {
        break;
      }
    }
    characters.resize(kept);
    std::sort(characters.begin(), characters.end(),
              [](const Character& a, const Character& b) { return a.code < b.code; });
    for (const Character& character : characters) {
      alphabet_.emplace(character.code, add(sign_of(character.code)));
    }
    for (const Character& character : characters) {
      if (character.is_inner) {
        inner_.emplace(character.code, add(options_.prefix + sign_of(character.code)));
      }
    }
  }

  static std::string sign_of(char32_t code) {
    std::string sign;
    utf8::append(sign, code);
    return sign;
  }

  /// Characters that the alphabet has no room for are left out of the words.
  void spell_words(const WordCounts& counts) {
    words_.reserve(counts.words.size());
    for (const auto& [word, count] : counts.words) {
      Word spelt{.pieces = {}, .count = count};
      bool is_first = true;
      for (std::size_t at = 0; at < word.size();) {
        const char32_t code = utf8::next(word, at);
        const auto found = alphabet_.find(code);
        if (found != alphabet_.end()) {
          spelt.pieces.push_back(is_first ? found->second : inner_.at(code));
        }
        is_first = false;
      }
      words_.push_back(std::move(spelt));
    }
  }

  void count_pairs() {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      const std::vector<int32_t>& pieces = words_[word].pieces;
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
        change({pieces[i], pieces[i + 1]}, words_[word].count, static_cast<int32_t>(word));
      }
    }
    for (const auto& [pair, entry] : pairs_) {
      waiting_.push({entry.count, pair});
    }
  }

  /// Where a count grows, the word is noted.
  void change(const PiecePair& pair, int64_t count, int32_t word) {
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
    const int32_t made = add(std::string(left) + std::string(right));
    grown_.clear();
    for (const int32_t word : where) {
      merge_in(word, pair, made);
    }
    pairs_.erase(pair);
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const PiecePair& other : grown_) {
      const auto found = pairs_.find(other);
      if (found != pairs_.end() && found->second.count > 0) {
        waiting_.push({found->second.count, other});
      }
    }
  }

  void merge_in(int32_t word, const PiecePair& pair, int32_t made) {
    std::vector<int32_t>& pieces = words_[static_cast<std::size_t>(word)].pieces;
    const int64_t count = words_[static_cast<std::size_t>(word)].count;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      if (pieces[i] != pair.first || pieces[i + 1] != pair.second) {
        continue;
      }
      if (i > 0) {
        change({pieces[i - 1], pair.first}, -count, word);
        change({pieces[i - 1], made}, count, word);
        grown_.emplace_back(pieces[i - 1], made);
      }
      if (i + 2 < pieces.size()) {
        change({pair.second, pieces[i + 2]}, -count, word);
        change({made, pieces[i + 2]}, count, word);
        grown_.emplace_back(made, pieces[i + 2]);
      }
      pieces[i] = made;
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  const WordPieceTraining& options_;
  Vocabulary pieces_;
  std::unordered_map<char32_t, int32_t> alphabet_;  // ids of characters at the head of words
  std::unordered_map<char32_t, int32_t> inner_;     // and within them
  std::vector<Word> words_;
  std::unordered_map<PiecePair, Entry, PiecePairHash> pairs_;
  std::priority_queue<PairCandidate> waiting_;
  std::vector<PiecePair> grown_;  // pairs made by the merge under way
};

}  // namespace

Vocabulary train_word_piece(const WordCounts& counts, const WordPieceTraining& options) {
  return WordPieceTrainer(counts, options).run();
}

}  // namespace weft::data
