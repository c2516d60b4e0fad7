#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/piece_trie.h"

namespace weft::data {

namespace {

/// How much worse than the worst piece an unknown character is, in log-probability, as
/// SentencePiece has it.
constexpr double kUnigramUnknownPenalty = 10.0;

/// A score as `tokenizers` reads it from its file: the digits as one whole number, rounded to a
/// double, and that by a power of ten, rounded again. Sums that would be equal differ by it.
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
  const auto behind_point = mark > 1 ? static_cast<int>(mark) - 2 : 0;
  const int exponent = std::stoi(std::string(all.substr(mark + 1))) - behind_point;
  const auto whole = static_cast<double>(digits);
  return std::copysign(
      exponent < 0 ? whole / std::pow(10.0, -exponent) : whole * std::pow(10.0, exponent), score);
}

/// The best step that ends at a place of the word.
struct Step {
  double score = 0;
  int64_t begin = -1;  // -1: nothing ends here
  int32_t id = 0;
};

/// The most likely pieces under a unigram language model (arXiv:1804.10959), by dynamic
/// programming.
class Unigram : public TokenModel {
 public:
  explicit Unigram(const JsonFields& fields) : falls_back_(fields.truth("byte_fallback", false)) {
    read_pieces(fields);
    if (fields.has("unk_id")) {
      unknown_ = token_id(fields.at("unk_id"), fields.place() + ".unk_id");
      if (unknown_ >= vocabulary_.size()) {
        fields.fail("unk_id",
                    weft::text(unknown_, " is outside of ", vocabulary_.size(), " pieces"));
      }
    }
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
      static constexpr std::string_view digits = "0123456789ABCDEF";
      bytes_[byte] = vocabulary_.find(weft::text("<0x", digits[byte / 16], digits[byte % 16], ">"));
    }
    falls_back_ = falls_back_ && std::none_of(bytes_.begin(), bytes_.end(),
                                              [](int32_t id) { return id == Vocabulary::kNone; });
  }

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override {
    // Memory of the thread, which serves from word to word.
    thread_local std::vector<Step> steps;
    thread_local std::vector<Piece> found;  // from the end
    best_steps(word, steps);
    found.clear();
    for (auto end = static_cast<int64_t>(word.size()); end > 0;) {
      const Step& step = steps[static_cast<std::size_t>(end)];
      const bool joins = step.id == unknown_ && !found.empty() && found.back().id == unknown_;
      if (joins) {
        found.back().begin = static_cast<uint32_t>(step.begin);
      } else {
        found.push_back({step.id, static_cast<uint32_t>(step.begin), static_cast<uint32_t>(end)});
      }
      end = step.begin;
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
    const std::string place = fields.place() + ".vocab";
    if (list.empty()) {
      throw Error(place + ": no pieces");
    }
    double worst = std::numeric_limits<double>::infinity();
    for (const formats::Json& item : list) {
      const bool is_piece =
          item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_number();
      if (!is_piece || !std::isfinite(item[1].get<double>())) {
        throw Error(weft::text(place, "[", scores_.size(), "]: a piece and its score are needed"));
      }
      scores_.push_back(as_tokenizers_reads(item[1].get<double>()));
      worst = std::min(worst, scores_.back());
    }
    unknown_score_ = worst - kUnigramUnknownPenalty;
    // From the end, so that of a piece that stands twice the last id counts, as in `tokenizers`.
    for (std::size_t i = list.size(); i-- > 0;) {
      const auto& piece = list[i][0].get_ref<const std::string&>();
      const auto id = static_cast<int32_t>(i);
      if (vocabulary_.add(piece, id) && !piece.empty()) {
        trie_.add(piece, id);
      }
    }
  }

  void best_steps(std::string_view word, std::vector<Step>& steps) const {
    steps.assign(word.size() + 1, {});
    steps[0].begin = 0;
    const auto offer = [&](std::size_t begin, std::size_t end, double score, int32_t id) {
      Step& step = steps[end];
      if (step.begin < 0 || score > step.score) {
        step = {score, static_cast<int64_t>(begin), id};
      }
    };
    for (std::size_t begin = 0; begin < word.size();) {
      std::size_t after = begin;
      utf8::next(word, after);
      const double score = steps[begin].score;
      bool has_single = false;
      uint32_t node = PieceTrie::kRoot;
      for (std::size_t at = begin; at < word.size();) {
        node = trie_.next(node, static_cast<unsigned char>(word[at++]));
        if (node == PieceTrie::kNowhere) {
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
    // Unknown characters side by side are one text, which may be a piece after all.
    Piece made = piece;
    const std::string_view text = word.substr(piece.begin, piece.end - piece.begin);
    if (piece.id == unknown_) {
      made.id = vocabulary_.find(text);
    }
    if (made.id != Vocabulary::kNone) {
      pieces.push_back(made);
    } else if (falls_back_) {
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
  bool falls_back_;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(const JsonFields& fields) {
  return std::make_unique<Unigram>(fields);
}

}  // namespace weft::data
