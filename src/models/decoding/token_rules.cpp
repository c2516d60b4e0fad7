#include "models/decoding/token_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace weft::models {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool is_inside(int64_t token, std::span<const float> scores) {
  return token >= 0 && token < static_cast<int64_t>(scores.size());
}

void forbid(std::span<float> scores, int64_t token) {
  if (is_inside(token, scores)) {
    scores[static_cast<std::size_t>(token)] = kNever;
  }
}

void forbid(std::span<float> scores, const Tokens& tokens) {
  for (const auto token : tokens) {
    forbid(scores, token);
  }
}

/// log-softmax of what is left.
void renormalize(std::span<float> scores) {
  const float greatest = *std::max_element(scores.begin(), scores.end());
  if (!std::isfinite(greatest)) {
    return;
  }
  double sum = 0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score - greatest));
  }
  const auto shift = greatest + static_cast<float>(std::log(sum));
  for (float& score : scores) {
    score -= shift;
  }
}

bool ends_with(std::span<const int64_t> tokens, std::span<const int64_t> ending) {
  return tokens.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(),
                    tokens.end() - static_cast<std::ptrdiff_t>(ending.size()));
}

}  // namespace

bool RuledScores::are_plain(const Begun& begun) const {
  const bool is_first = begun.generated() <= 1;
  const bool is_last = begun.generated() == begun.most - 1;
  return rules_.repetition_penalty == 1 && rules_.no_repeat == 0 && rules_.banned.empty() &&
         rules_.allowed.empty() && rules_.suppressed.empty() && begun.generated() >= begun.least &&
         !(is_first && !rules_.suppressed_first.empty()) &&
         !(begun.tokens.size() == 1 && rules_.forced_first >= 0) &&
         !(is_last && rules_.forced_last >= 0);
}

void RuledScores::apply(std::span<float> scores, const Begun& begun) const {
  penalise_repetition(scores, begun);
  forbid_repeated_grams(scores, begun);
  forbid_words(scores, begun);
  forbid_ends(scores, begun);
  keep_allowed(scores);
  force(scores, begun);
  suppress(scores, begun);
  if (rules_.renormalizes) {
    renormalize(scores);
  }
}

void RuledScores::penalise_repetition(std::span<float> scores, const Begun& begun) const {
  if (rules_.repetition_penalty == 1) {
    return;
  }
  const auto penalty = static_cast<float>(rules_.repetition_penalty);
  const std::unordered_set<int64_t> seen(begun.tokens.begin(), begun.tokens.end());
  for (const auto token : seen) {
    if (is_inside(token, scores)) {
      auto& score = scores[static_cast<std::size_t>(token)];
      score = score < 0 ? score * penalty : score / penalty;
    }
  }
}

void RuledScores::forbid_repeated_grams(std::span<float> scores, const Begun& begun) const {
  const auto size = static_cast<std::size_t>(rules_.no_repeat);
  if (size == 0 || begun.tokens.size() < size) {
    return;
  }
  const auto ending = begun.tokens.last(size - 1);
  for (std::size_t i = 0; i + size <= begun.tokens.size(); ++i) {
    const auto gram = begun.tokens.subspan(i, size);
    if (std::equal(ending.begin(), ending.end(), gram.begin())) {
      forbid(scores, gram.back());
    }
  }
}

void RuledScores::forbid_words(std::span<float> scores, const Begun& begun) const {
  for (const auto& word : rules_.banned) {
    const bool is_end =
        word.size() == 1 && std::find(end_ids_.begin(), end_ids_.end(), word[0]) != end_ids_.end();
    if (!word.empty() && !is_end &&
        ends_with(begun.tokens, std::span(word).first(word.size() - 1))) {
      forbid(scores, word.back());
    }
  }
}

void RuledScores::forbid_ends(std::span<float> scores, const Begun& begun) const {
  if (begun.generated() < begun.least) {
    forbid(scores, end_ids_);
  }
}

void RuledScores::keep_allowed(std::span<float> scores) const {
  if (rules_.allowed.empty()) {
    return;
  }
  std::vector<std::pair<int64_t, float>> kept;
  for (const auto* list : {&rules_.allowed, &end_ids_}) {
    for (const auto token : *list) {
      if (is_inside(token, scores)) {
        kept.emplace_back(token, scores[static_cast<std::size_t>(token)]);
      }
    }
  }
  std::fill(scores.begin(), scores.end(), kNever);
  for (const auto& [token, score] : kept) {
    scores[static_cast<std::size_t>(token)] = score;
  }
}

void RuledScores::force(std::span<float> scores, const Begun& begun) const {
  const auto only = [&](int64_t token) {
    std::fill(scores.begin(), scores.end(), kNever);
    if (is_inside(token, scores)) {
      scores[static_cast<std::size_t>(token)] = 0;
    }
  };
  if (rules_.forced_first >= 0 && begun.tokens.size() == 1) {
    only(rules_.forced_first);
  }
  if (rules_.forced_last >= 0 && begun.generated() == begun.most - 1) {
    only(rules_.forced_last);
  }
}

void RuledScores::suppress(std::span<float> scores, const Begun& begun) const {
  forbid(scores, rules_.suppressed);
  // A forced first token shifts the place, as transformers has it.
  const int64_t place = begun.prompt == 1 && rules_.forced_first >= 0 ? 1 : 0;
  if (begun.generated() == place) {
    forbid(scores, rules_.suppressed_first);
  }
}

}  // namespace weft::models
