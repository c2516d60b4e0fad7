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

/// Applies log-softmax to the remaining scores.
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

bool LogitsProcessor::is_noop(const GenerationState& state) const {
  const bool is_first = state.generated() <= 1;
  const bool is_last = state.generated() == state.max_new_tokens - 1;
  return rules_.repetition_penalty == 1 && rules_.no_repeat_ngram_size == 0 &&
         rules_.bad_words.empty() && rules_.allowed.empty() && rules_.suppress_tokens.empty() &&
         state.generated() >= state.min_new_tokens &&
         !(is_first && !rules_.begin_suppress_tokens.empty()) &&
         !(state.tokens.size() == 1 && rules_.forced_bos_token >= 0) &&
         !(is_last && rules_.forced_eos_token >= 0);
}

void LogitsProcessor::apply(std::span<float> scores, const GenerationState& state) const {
  penalise_repetition(scores, state);
  forbid_repeated_ngrams(scores, state);
  forbid_words(scores, state);
  forbid_ends(scores, state);
  keep_allowed(scores);
  force(scores, state);
  suppress(scores, state);
  if (rules_.renormalize_logits) {
    renormalize(scores);
  }
}

void LogitsProcessor::penalise_repetition(std::span<float> scores,
                                          const GenerationState& state) const {
  if (rules_.repetition_penalty == 1) {
    return;
  }
  const auto penalty = static_cast<float>(rules_.repetition_penalty);
  const std::unordered_set<int64_t> seen(state.tokens.begin(), state.tokens.end());
  for (const auto token : seen) {
    if (is_inside(token, scores)) {
      auto& score = scores[static_cast<std::size_t>(token)];
      score = score < 0 ? score * penalty : score / penalty;
    }
  }
}

void LogitsProcessor::forbid_repeated_ngrams(std::span<float> scores,
                                             const GenerationState& state) const {
  const auto size = static_cast<std::size_t>(rules_.no_repeat_ngram_size);
  if (size == 0 || state.tokens.size() < size) {
    return;
  }
  const auto ending = state.tokens.last(size - 1);
  for (std::size_t i = 0; i + size <= state.tokens.size(); ++i) {
    const auto gram = state.tokens.subspan(i, size);
    if (std::equal(ending.begin(), ending.end(), gram.begin())) {
      forbid(scores, gram.back());
    }
  }
}

void LogitsProcessor::forbid_words(std::span<float> scores, const GenerationState& state) const {
  for (const auto& word : rules_.bad_words) {
    const bool is_end =
        word.size() == 1 && std::find(eos_ids_.begin(), eos_ids_.end(), word[0]) != eos_ids_.end();
    if (!word.empty() && !is_end &&
        ends_with(state.tokens, std::span(word).first(word.size() - 1))) {
      forbid(scores, word.back());
    }
  }
}

void LogitsProcessor::forbid_ends(std::span<float> scores, const GenerationState& state) const {
  if (state.generated() < state.min_new_tokens) {
    forbid(scores, eos_ids_);
  }
}

void LogitsProcessor::keep_allowed(std::span<float> scores) const {
  if (rules_.allowed.empty()) {
    return;
  }
  std::vector<std::pair<int64_t, float>> kept;
  for (const auto* list : {&rules_.allowed, &eos_ids_}) {
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

void LogitsProcessor::force(std::span<float> scores, const GenerationState& state) const {
  const auto only = [&](int64_t token) {
    std::fill(scores.begin(), scores.end(), kNever);
    if (is_inside(token, scores)) {
      scores[static_cast<std::size_t>(token)] = 0;
    }
  };
  if (rules_.forced_bos_token >= 0 && state.tokens.size() == 1) {
    only(rules_.forced_bos_token);
  }
  if (rules_.forced_eos_token >= 0 && state.generated() == state.max_new_tokens - 1) {
    only(rules_.forced_eos_token);
  }
}

void LogitsProcessor::suppress(std::span<float> scores, const GenerationState& state) const {
  forbid(scores, rules_.suppress_tokens);
  // A forced first token shifts the position, as in transformers.
  const int64_t position = state.prompt == 1 && rules_.forced_bos_token >= 0 ? 1 : 0;
  if (state.generated() == position) {
    forbid(scores, rules_.begin_suppress_tokens);
  }
}

}  // namespace weft::models
