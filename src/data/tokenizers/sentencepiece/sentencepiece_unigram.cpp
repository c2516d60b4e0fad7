#include "data/tokenizers/sentencepiece/sentencepiece_unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

constexpr float kSentencepieceUnknownPenalty = 10.0F;

}  // namespace

SentencePieceUnigram::SentencePieceUnigram(const SentencePieceModel& model)
    : normalizer_(model), unknown_(model.unknown_id) {
  min_score_ = std::numeric_limits<float>::max();
  max_score_ = std::numeric_limits<float>::min();
  if (model.byte_fallback) {
    bytes_.assign(256, model.unknown_id);
  }
  for (std::size_t index = 0; index < model.pieces.size(); ++index) {
    const SentencePieceModel::Item& item = model.pieces[index];
    const auto id = static_cast<int32_t>(index);
    scores_.push_back(item.score);
    is_user_defined_.push_back(item.type == SentencePieceType::kUserDefined ? 1 : 0);
    switch (item.type) {
      case SentencePieceType::kNormal:
        min_score_ = std::min(min_score_, item.score);
        max_score_ = std::max(max_score_, item.score);
        trie_.add(item.piece, id);
        break;
      case SentencePieceType::kUserDefined:
        trie_.add(item.piece, id);
        break;
      case SentencePieceType::kByte:
        bytes_[static_cast<std::size_t>(std::stoi(item.piece.substr(3, 2), nullptr, 16))] = id;
        break;
      case SentencePieceType::kUnknown:
      case SentencePieceType::kControl:
      case SentencePieceType::kUnused:
        break;
    }
  }
}

float SentencePieceUnigram::score_of(int32_t id, std::size_t length) const {
  const auto index = static_cast<std::size_t>(id);
  // User-defined pieces always win: no split of them can score higher.
  return is_user_defined_[index] != 0 ? static_cast<float>(length) * max_score_ - 0.1F
                                      : scores_[index];
}

std::vector<SentencePieceUnigram::LatticeNode> SentencePieceUnigram::viterbi(
    std::string_view text) const {
  std::vector<LatticeNode> lattice(text.size() + 1);
  lattice[0].begin = 0;
  const auto offer = [&](std::size_t begin, std::size_t end, float score, int32_t id) {
    LatticeNode& best = lattice[end];
    if (best.begin < 0 || score > best.score) {
      best = {score, static_cast<int64_t>(begin), id};
    }
  };
  const float unknown_score = min_score_ - kSentencepieceUnknownPenalty;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t after = begin;
    utf8::next(text, after);
    const float score = lattice[begin].score;
    bool has_single = false;
    uint32_t node = PieceTrie::kRoot;
    for (std::size_t at = begin; at < text.size();) {
      node = trie_.next(node, static_cast<unsigned char>(text[at++]));
      if (node == PieceTrie::kNoNode) {
        break;
      }
      if (const int32_t id = trie_.id(node); id >= 0) {
        offer(begin, at, score_of(id, at - begin) + score, id);
        has_single = has_single || at == after;
      }
    }
    if (!has_single) {
      offer(begin, after, unknown_score + score, unknown_);
    }
    begin = after;
  }
  return lattice;
}

SentencePieceEncoding SentencePieceUnigram::encode(std::string_view text) const {
  SentencePieceText normal = normalizer_.apply(text);
  const std::vector<LatticeNode> lattice = viterbi(normal.bytes);
  std::vector<Token> result;  // in reverse order
  for (auto end = static_cast<int64_t>(normal.bytes.size()); end > 0;) {
    const LatticeNode& best = lattice[static_cast<std::size_t>(end)];
    const bool is_unknown = best.id == unknown_;
    if (is_unknown && !bytes_.empty()) {
      for (int64_t at = end; at-- > best.begin;) {
        const auto byte = static_cast<unsigned char>(normal.bytes[static_cast<std::size_t>(at)]);
        result.push_back({bytes_[byte], best.begin, end});
      }
    } else if (is_unknown && !result.empty() && result.back().id == unknown_) {
      result.back().begin = best.begin;
    } else {
      result.push_back({best.id, best.begin, end});
    }
    end = best.begin;
  }
  std::reverse(result.begin(), result.end());
  return {std::move(normal), std::move(result)};
}

}  // namespace weft::data
