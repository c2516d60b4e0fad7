#include "data/tokenizers/sentencepiece/sentencepiece_unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

constexpr float kSentencepieceUnknownPenalty = 10.0F;

}  // namespace

SentencePieceUnigram::SentencePieceUnigram(const SentencePieceModel& model)
    : normalizer_(model), unknown_(model.unknown_id) {
  least_ = std::numeric_limits<float>::max();
  most_ = std::numeric_limits<float>::min();
  if (model.byte_fallback) {
    bytes_.assign(256, model.unknown_id);
  }
  for (std::size_t place = 0; place < model.pieces.size(); ++place) {
    const SentencePieceModel::Item& item = model.pieces[place];
    const auto id = static_cast<int32_t>(place);
    scores_.push_back(item.score);
    is_user_defined_.push_back(item.type == SentencePieceType::kUserDefined ? 1 : 0);
    switch (item.type) {
      case SentencePieceType::kNormal:
        least_ = std::min(least_, item.score);
        most_ = std::max(most_, item.score);
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
  const auto place = static_cast<std::size_t>(id);
  // User-defined pieces are always taken: nothing within them can be better.
  return is_user_defined_[place] != 0 ? static_cast<float>(length) * most_ - 0.1F : scores_[place];
}

std::vector<SentencePieceUnigram::Step> SentencePieceUnigram::best_steps(
    std::string_view text) const {
  std::vector<Step> steps(text.size() + 1);
  steps[0].begin = 0;
  const auto offer = [&](std::size_t begin, std::size_t end, float score, int32_t id) {
    Step& step = steps[end];
    if (step.begin < 0 || score > step.score) {
      step = {score, static_cast<int64_t>(begin), id};
    }
  };
  const float unknown_score = least_ - kSentencepieceUnknownPenalty;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t after = begin;
    utf8::next(text, after);
    const float score = steps[begin].score;
    bool has_single = false;
    uint32_t node = PieceTrie::kRoot;
    for (std::size_t at = begin; at < text.size();) {
      node = trie_.next(node, static_cast<unsigned char>(text[at++]));
      if (node == PieceTrie::kNowhere) {
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
  return steps;
}

SentencePieceCut SentencePieceUnigram::cut(std::string_view text) const {
  SentencePieceText normal = normalizer_.apply(text);
  const std::vector<Step> steps = best_steps(normal.bytes);
  std::vector<Token> made;  // from the end
  for (auto end = static_cast<int64_t>(normal.bytes.size()); end > 0;) {
    const Step& step = steps[static_cast<std::size_t>(end)];
    const bool is_unknown = step.id == unknown_;
    if (is_unknown && !bytes_.empty()) {
      for (int64_t at = end; at-- > step.begin;) {
        const auto byte = static_cast<unsigned char>(normal.bytes[static_cast<std::size_t>(at)]);
        made.push_back({bytes_[byte], step.begin, end});
      }
    } else if (is_unknown && !made.empty() && made.back().id == unknown_) {
      made.back().begin = step.begin;
    } else {
      made.push_back({step.id, step.begin, end});
    }
    end = step.begin;
  }
  std::reverse(made.begin(), made.end());
  return {std::move(normal), std::move(made)};
}

}  // namespace weft::data
