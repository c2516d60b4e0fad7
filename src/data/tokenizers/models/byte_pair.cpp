#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <queue>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/models/linear_byte_pair.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/pair_table.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

/// Words of at most this many symbols are merged by scanning all of their pairs.
constexpr std::size_t kFewSymbols = 32;

/// A symbol of a long word, linked to its neighbours.
struct Symbol {
  Piece piece;
  int32_t previous = -1;
  int32_t next = -1;
  bool is_merged = false;
};

struct BytePairCandidate {
  int32_t rank = 0;
  int32_t left = 0;
  int32_t id = 0;

  bool operator>(const BytePairCandidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

/// Byte pair encoding (arXiv:1508.07909): applies merges in the order in which they were learnt.
class BytePair : public TokenModel {
 public:
  explicit BytePair(const JsonFields& fields)
      : vocabulary_(read_vocabulary(fields)),
        prefix_(fields.text("continuing_subword_prefix", "")),
        suffix_(fields.text("end_of_word_suffix", "")),
        fuse_unk_(fields.boolean("fuse_unk", false)),
        byte_fallback_(fields.boolean("byte_fallback", false)),
        ignores_merges_(fields.boolean("ignore_merges", false)) {
    if (fields.has("dropout") && fields.at("dropout") != 0) {
      fields.fail("dropout", "BPE dropout is not supported, must be null");
    }
    if (fields.has("unk_token")) {
      unknown_ = read_unknown(fields, vocabulary_, "");
    }
    read_merges(fields);
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      static constexpr std::string_view kDigits = "0123456789ABCDEF";
      bytes_[byte] =
          vocabulary_.find(weft::str_cat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">"));
    }
  }

  bool can_read_bytes() const override {
    const auto has_piece = [&](const std::string& character) {
      return vocabulary_.find(character) != Vocabulary::kNone;
    };
    return prefix_.empty() && suffix_.empty() &&
           std::all_of(bytes_to_unicode().begin(), bytes_to_unicode().end(), has_piece);
  }

  void read_bytes() override {
    reads_bytes_ = true;
    std::transform(bytes_to_unicode().begin(), bytes_to_unicode().end(), bytes_.begin(),
                   [&](const std::string& character) { return vocabulary_.find(character); });
  }

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override {
    if (ignores_merges_) {
      const int32_t id = vocabulary_.find(reads_bytes_ ? as_unicode(word) : word);
      if (id != Vocabulary::kNone) {
        pieces.push_back({id, 0, static_cast<uint32_t>(word.size())});
        return;
      }
    }
    if (word.size() > kFewSymbols && linear() != nullptr) {
      linear()->tokenize(word, pieces);
      return;
    }
    const std::size_t begin = pieces.size();
    reads_bytes_ ? read_bytes_of(word, pieces) : read_symbols(word, pieces);
    pieces.size() - begin <= kFewSymbols ? merge_few(pieces, begin) : merge_many(pieces, begin);
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::string continuing_prefix() const override { return prefix_; }
  int32_t unknown_id() const override { return unknown_; }

  std::vector<std::pair<int32_t, int32_t>> merges() const override {
    std::vector<std::pair<int32_t, std::pair<int32_t, int32_t>>> ranked;
    merges_.visit([&](int32_t left, int32_t right, const Merge& merge) {
      ranked.push_back({merge.rank, {left, right}});
    });
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::pair<int32_t, int32_t>> found;
    found.reserve(ranked.size());
    for (const auto& [rank, sides] : ranked) {
      found.push_back(sides);
    }
    return found;
  }

 private:
  void read_merges(const JsonFields& fields) {
    const std::string location = fields.location() + ".merges";
    int32_t rank = 0;
    for (const formats::Json& item : fields.list("merges")) {
      const auto [left, right] = merge_sides(item, location, rank);
      const int32_t left_id = known(left, location, rank);
      const int32_t right_id = known(right, location, rank);
      const std::string_view tail =
          right.starts_with(prefix_) ? std::string_view(right).substr(prefix_.size()) : right;
      const int32_t result = known(left + std::string(tail), location, rank);
      merges_.put(left_id, right_id, {rank, result});
      ++rank;
    }
  }

  /// Merges are `["a", "b"]`, or `"a b"` in files written before tokenizers 0.20.
  static std::pair<std::string, std::string> merge_sides(const formats::Json& item,
                                                         const std::string& location,
                                                         int32_t rank) {
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      return {item[0].get<std::string>(), item[1].get<std::string>()};
    }
    if (item.is_string()) {
      const auto& both = item.get_ref<const std::string&>();
      const std::size_t space = both.find(' ');
      if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
        return {both.substr(0, space), both.substr(space + 1)};
      }
    }
    throw Error(weft::str_cat(location, "[", rank, "]: must be two pieces"));
  }

  int32_t known(std::string_view piece, const std::string& location, int32_t rank) const {
    const int32_t id = vocabulary_.find(piece);
    if (id == Vocabulary::kNone) {
      throw Error(weft::str_cat(location, "[", rank, "]: '", printable(piece),
                                "' is not in the vocabulary"));
    }
    return id;
  }

  /// Made for the first long word; null if the model does not read bytes or has unusual merges.
  const LinearBytePair* linear() const {
    std::call_once(makes_linear_, [&] {
      if (!reads_bytes_) {
        return;
      }
      std::vector<LinearBytePair::Rule> rules;
      for (const auto& [left, right] : merges()) {
        rules.push_back({left, right, merges_.find(left, right)});
      }
      linear_ = LinearBytePair::make(bytes_, rules, merges_);
    });
    return linear_.get();
  }

  void read_bytes_of(std::string_view word, std::vector<Piece>& pieces) const {
    for (uint32_t at = 0; at < word.size(); ++at) {
      pieces.push_back({bytes_[static_cast<unsigned char>(word[at])], at, at + 1});
    }
  }

  static std::string as_unicode(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
      text += bytes_to_unicode()[static_cast<unsigned char>(byte)];
    }
    return text;
  }

  void read_symbols(std::string_view word, std::vector<Piece>& pieces) const {
    bool was_unknown = false;
    std::string marked;
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t end = begin;
      utf8::next(word, end);
      const std::string_view character = character_at(word, begin, end, marked);
      const int32_t id = vocabulary_.find(character);
      const auto push = [&](int32_t found) {
        pieces.push_back({found, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      };
      if (id != Vocabulary::kNone) {
        push(id);
      } else if (byte_fallback_ && has_bytes(character)) {
        for (const char byte : character) {  // each covers the whole character
          push(bytes_[static_cast<unsigned char>(byte)]);
        }
      } else if (unknown_ != Vocabulary::kNone) {
        if (was_unknown && fuse_unk_) {
          pieces.back().end = static_cast<uint32_t>(end);
        } else {
          push(unknown_);
        }
        was_unknown = true;
        begin = end;
        continue;
      }
      was_unknown = false;
      begin = end;
    }
  }

  /// Adds any prefix and suffix for the character's position in the word; `marked` is a buffer.
  std::string_view character_at(std::string_view word,
                                std::size_t begin,
                                std::size_t end,
                                std::string& marked) const {
    const std::string_view character = word.substr(begin, end - begin);
    if (prefix_.empty() && suffix_.empty()) {
      return character;
    }
    marked = begin > 0 ? prefix_ : "";
    marked += character;
    marked += end == word.size() ? suffix_ : "";
    return marked;
  }

  bool has_bytes(std::string_view character) const {
    return std::all_of(character.begin(), character.end(), [&](char byte) {
      return bytes_[static_cast<unsigned char>(byte)] != Vocabulary::kNone;
    });
  }

  /// Merges the pieces from `begin` on in place; keeps them contiguous.
  void merge_few(std::vector<Piece>& pieces, std::size_t begin) const {
    Piece* const symbols = pieces.data() + begin;
    std::size_t count = pieces.size() - begin;
    std::array<Merge, kFewSymbols> merges;  // of each symbol with the next one
    const auto find_merge = [&](std::size_t at) {
      merges[at] = at + 1 < count ? merges_.find(symbols[at].id, symbols[at + 1].id) : Merge{};
    };
    for (std::size_t at = 0; at < count; ++at) {
      find_merge(at);
    }
    while (count > 1) {
      std::size_t best = 0;
      for (std::size_t at = 1; at + 1 < count; ++at) {
        best = merges[at].rank < merges[best].rank ? at : best;
      }
      if (merges[best].rank == Merge::kNever) {
        break;
      }
      symbols[best].id = merges[best].id;
      symbols[best].end = symbols[best + 1].end;
      std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
      std::copy(merges.begin() + best + 2, merges.begin() + count, merges.begin() + best + 1);
      --count;
      find_merge(best);
      if (best > 0) {
        find_merge(best - 1);
      }
    }
    pieces.resize(begin + count);
  }

  /// Links symbols and keeps their pairs in a priority queue.
  void merge_many(std::vector<Piece>& pieces, std::size_t begin) const {
    std::vector<Symbol> symbols(pieces.size() - begin);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      symbols[i] = {.piece = pieces[begin + i],
                    .previous = static_cast<int32_t>(i) - 1,
                    .next = i + 1 < symbols.size() ? static_cast<int32_t>(i) + 1 : -1};
    }
    std::priority_queue<BytePairCandidate, std::vector<BytePairCandidate>, std::greater<>> queue;
    const auto symbol = [&](int32_t at) -> Symbol& {
      return symbols[static_cast<std::size_t>(at)];
    };
    const auto offer = [&](int32_t left) {
      if (left < 0 || symbol(left).next < 0) {
        return;
      }
      const Merge found = merges_.find(symbol(left).piece.id, symbol(symbol(left).next).piece.id);
      if (found.rank != Merge::kNever) {
        queue.push({found.rank, left, found.id});
      }
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      offer(static_cast<int32_t>(i));
    }
    while (!queue.empty()) {
      const BytePairCandidate best = queue.top();
      queue.pop();
      Symbol& left = symbol(best.left);
      if (left.is_merged || left.next < 0) {
        continue;
      }
      Symbol& right = symbol(left.next);
      const Merge found = merges_.find(left.piece.id, right.piece.id);
      if (found.rank == Merge::kNever || found.id != best.id) {
        continue;
      }
      left.piece.id = best.id;
      left.piece.end = right.piece.end;
      left.next = right.next;
      right.is_merged = true;
      if (right.next >= 0) {
        symbol(right.next).previous = best.left;
      }
      offer(left.previous);
      offer(best.left);
    }
    pieces.resize(begin);
    for (const Symbol& each : symbols) {
      if (!each.is_merged) {
        pieces.push_back(each.piece);
      }
    }
  }

  Vocabulary vocabulary_;
  std::string prefix_;
  std::string suffix_;
  bool fuse_unk_;
  bool byte_fallback_;
  bool ignores_merges_;
  int32_t unknown_ = Vocabulary::kNone;
  PairTable merges_;
  std::array<int32_t, 256> bytes_{};  // ids of bytes: <0x..>, or as characters of GPT-2's alphabet
  bool reads_bytes_ = false;
  mutable std::once_flag makes_linear_;
  mutable std::unique_ptr<const LinearBytePair> linear_;
};

}  // namespace

std::unique_ptr<TokenModel> make_byte_pair(const JsonFields& fields) {
  return std::make_unique<BytePair>(fields);
}

}  // namespace weft::data
