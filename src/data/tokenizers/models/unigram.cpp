#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/piece_trie.h"

namespace weft::data {

namespace {

/// Log-probability difference between the worst piece and an unknown character, as in
/// SentencePiece.
constexpr double kUnigramUnknownPenalty = 10.0;

/// A score as parsed by `tokenizers`: the digits as one integer, rounded to a double, times a power
/// of ten, rounded again. This affects ties between sums.
double as_tokenizers_reads(double score) {
  std::array<char, 32> text = {};
  std::to_chars(text.data(), text.data() + text.size(), std::abs(score),
                std::chars_format::scientific);
  const std::string_view all(text.data());
  const auto mark = all.find('e');
  uint64_t digits = 0;
  for (const char digit : all.substr(0, mark)) {
    digits = digit == '.' ? digits : 10 * digits + static_cast<uint64_t>(digit - '0');
  }
  const auto after_point = mark > 1 ? static_cast<int>(mark) - 2 : 0;
  const int exponent = std::stoi(std::string(all.substr(mark + 1))) - after_point;
  const auto whole = static_cast<double>(digits);
  return std::copysign(
      exponent < 0 ? whole / std::pow(10.0, -exponent) : whole * std::pow(10.0, exponent), score);
}

/// Best step that ends at a position of the word.
struct LatticeNode {
  double score = 0;
  int64_t begin = -1;  // -1: no step ends here
  int32_t id = 0;
};

/// Most likely segmentation under a unigram language model (arXiv:1804.10959), by the Viterbi
/// algorithm.
class Unigram : public TokenModel {
 public:
  explicit Unigram(const JsonFields& fields)
      : byte_fallback_(fields.boolean("byte_fallback", false)) {
    read_pieces(fields);
    if (fields.has("unk_id")) {
      unknown_ = token_id(fields.at("unk_id"), fields.location() + ".unk_id");
      if (unknown_ >= vocabulary_.size()) {
        fields.fail("unk_id",
                    weft::str_cat(unknown_, " is out of range of ", vocabulary_.size(), " pieces"));
      }
    }
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      static constexpr std::string_view digits = "0123456789ABCDEF";
      bytes_[byte] =
          vocabulary_.find(weft::str_cat("<0x", digits[byte / 16], digits[byte % 16], ">"));
    }
    byte_fallback_ = byte_fallback_ && std::none_of(bytes_.begin(), bytes_.end(), [](int32_t id) {
                       return id == Vocabulary::kNone;
                     });
  }

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override {
    // Thread-local memory, reused between words.
    thread_local std::vector<LatticeNode> lattice;
    thread_local std::vector<Piece> found;  // in reverse order
    viterbi(word, lattice);
    found.clear();
    for (auto end = static_cast<int64_t>(word.size()); end > 0;) {
      const LatticeNode& best = lattice[static_cast<std::size_t>(end)];
      const bool joins = best.id == unknown_ && !found.empty() && found.back().id == unknown_;
      if (joins) {
        found.back().begin = static_cast<uint32_t>(best.begin);
      } else {
        found.push_back({best.id, static_cast<uint32_t>(best.begin), static_cast<uint32_t>(end)});
      }
      end = best.begin;
    }
    for (auto piece = found.rbegin(); piece != found.rend(); ++piece) {
      append(*piece, word, pieces);
    }
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_; }

 private:
  void read_pieces(const JsonFields& fields) {
    const formats::Json& list = fields.list("vocab");
    const std::string location = fields.location() + ".vocab";
    if (list.empty()) {
      throw Error(location + ": no pieces");
    }
    double worst = std::numeric_limits<double>::infinity();
    for (const formats::Json& item : list) {
      const bool is_piece =
          item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_number();
      if (!is_piece || !std::isfinite(item[1].get<double>())) {
        throw Error(
            weft::str_cat(location, "[", scores_.size(), "]: must be a piece and its score"));
      }
      scores_.push_back(as_tokenizers_reads(item[1].get<double>()));
      worst = std::min(worst, scores_.back());
    }
    unknown_score_ = worst - kUnigramUnknownPenalty;
    // In reverse order, so that the last id of a duplicate piece counts, as in `tokenizers`.
    for (std::size_t i = list.size(); i-- > 0;) {
      const auto& piece = list[i][0].get_ref<const std::string&>();
      const auto id = static_cast<int32_t>(i);
      if (vocabulary_.add(piece, id) && !piece.empty()) {
        trie_.add(piece, id);
      }
    }
  }

  void viterbi(std::string_view word, std::vector<LatticeNode>& lattice) const {
    lattice.assign(word.size() + 1, {});
    lattice[0].begin = 0;
    const auto offer = [&](std::size_t begin, std::size_t end, double score, int32_t id) {
      LatticeNode& best = lattice[end];
      if (best.begin < 0 || score > best.score) {
        best = {score, static_cast<int64_t>(begin), id};
      }
    };
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t after = begin;
      utf8::next(word, after);
      const double score = lattice[begin].score;
      bool has_single = false;
      uint32_t node = PieceTrie::kRoot;
      for (std::size_t at = begin; at < word.size();) {
        node = trie_.next(node, static_cast<unsigned char>(word[at++]));
        if (node == PieceTrie::kNoNode) {
          break;
        }
        const int32_t id = trie_.id(node);
        if (id >= 0) {
          offer(begin, at, score + scores_[static_cast<std::size_t>(id)], id);
          has_single = has_single || at == after;
        }
      }
      if (!has_single) {
        offer(begin, after, score + unknown_score_, unknown_);
      }
      begin = after;
    }
  }

  void append(const Piece& piece, std::string_view word, std::vector<Piece>& pieces) const {
    // Adjacent unknown characters form one text, which may be a piece after all.
    Piece result = piece;
    const std::string_view text = word.substr(piece.begin, piece.end - piece.begin);
    if (piece.id == unknown_) {
      result.id = vocabulary_.find(text);
    }
    if (result.id != Vocabulary::kNone) {
      pieces.push_back(result);
    } else if (byte_fallback_) {
      for (const char byte : text) {
        pieces.push_back({bytes_[static_cast<unsigned char>(byte)], piece.begin, piece.end});
      }
    } else if (unknown_ != Vocabulary::kNone) {
      pieces.push_back({unknown_, piece.begin, piece.end});
    }
  }

  Vocabulary vocabulary_;
  PieceTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = Vocabulary::kNone;
  bool byte_fallback_;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(const JsonFields& fields) {
  return std::make_unique<Unigram>(fields);
}

}  // namespace weft::data
