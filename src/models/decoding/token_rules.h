#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/decoding/search_options.h"

namespace weft::models {

/// A sequence before its next token.
struct GenerationState {
  std::span<const int64_t> tokens;  // prompt and new ones
  int64_t prompt = 0;               // tokens of the prompt
  int64_t max_new_tokens = 0;       // new tokens
  int64_t min_new_tokens = 0;

  int64_t generated() const { return static_cast<int64_t>(tokens.size()) - prompt; }
};

/// Applies the token rules to the scores of one sequence: logits, or log-probabilities in a beam
/// search. Scores of forbidden tokens become -infinity.
class LogitsProcessor {
 public:
  LogitsProcessor(const TokenRules& rules, const Tokens& eos_ids)
      : rules_(rules), eos_ids_(eos_ids) {}

  /// Whether the rules leave the scores of such a sequence unchanged.
  bool is_noop(const GenerationState& state) const;
  void apply(std::span<float> scores, const GenerationState& state) const;

 private:
  void penalise_repetition(std::span<float> scores, const GenerationState& state) const;
  void forbid_repeated_ngrams(std::span<float> scores, const GenerationState& state) const;
  void forbid_words(std::span<float> scores, const GenerationState& state) const;
  void forbid_ends(std::span<float> scores, const GenerationState& state) const;
  void keep_allowed(std::span<float> scores) const;
  void force(std::span<float> scores, const GenerationState& state) const;
  void suppress(std::span<float> scores, const GenerationState& state) const;

  const TokenRules& rules_;
  const Tokens& eos_ids_;
};

}  // namespace weft::models
