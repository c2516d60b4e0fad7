#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoding/search_options.h"

namespace weft::models {

/// A sequence that waits for its next token.
struct Begun {
  std::span<const int64_t> tokens;  // prompt and new ones
  int64_t prompt = 0;               // tokens of the prompt
  int64_t most = 0;                 // new tokens
  int64_t least = 0;

  int64_t generated() const { return static_cast<int64_t>(tokens.size()) - prompt; }
};

/// Applies what tokens must obey to the scores of one sequence: logits, or log-probabilities in a
/// beam search. Scores of tokens that may not come become -infinity.
class RuledScores {
 public:
  RuledScores(const TokenRules& rules, const Tokens& end_ids) : rules_(rules), end_ids_(end_ids) {}

  /// Whether scores of such a sequence stay as they are.
  bool are_plain(const Begun& begun) const;
  void apply(std::span<float> scores, const Begun& begun) const;

 private:
  void penalise_repetition(std::span<float> scores, const Begun& begun) const;
  void forbid_repeated_grams(std::span<float> scores, const Begun& begun) const;
  void forbid_words(std::span<float> scores, const Begun& begun) const;
  void forbid_ends(std::span<float> scores, const Begun& begun) const;
  void keep_allowed(std::span<float> scores) const;
  void force(std::span<float> scores, const Begun& begun) const;
  void suppress(std::span<float> scores, const Begun& begun) const;

  const TokenRules& rules_;
  const Tokens& end_ids_;
};

}  // namespace weft::models
