#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::models {

using Tokens = std::vector<int64_t>;

/// When a beam search with a full list of finished hypotheses ends, as in transformers. kNo: when
/// the best running one scores no better at its current length; kNever: when it cannot score better
/// at any length; kYes: at once.
enum class EarlyStopping { kNo, kYes, kNever };

/// Constraints on the next token, in the order in which transformers applies them.
struct TokenRules {
  double repetition_penalty = 1;       // of previous tokens (arXiv:1909.05858); 1: none
  int64_t no_repeat_ngram_size = 0;    // no n-gram of this size may repeat; 0: no limit
  std::vector<Tokens> bad_words = {};  // token sequences that may not be completed
  Tokens allowed = {};                 // allowed tokens, besides eos ids; empty: all
  Tokens suppress_tokens = {};         // forbidden tokens
  Tokens begin_suppress_tokens = {};   // forbidden as the first new token
  int64_t forced_bos_token = -1;       // forced after a prompt of one token; -1: none
  int64_t forced_eos_token = -1;       // forced at the maximum length; -1: none
  bool renormalize_logits = false;     // remaining probabilities sum to 1 again
};

/// How the next token is sampled.
struct Sampling {
  bool is_enabled = false;  // off: the most likely token is chosen
  double temperature = 1;   // logits are divided by it
  int64_t top_k = 0;        // number of most likely tokens kept; 0: all
  double top_p = 1;         // probability mass that is kept (arXiv:1904.09751)
  double min_p = 0;         // minimum, relative to the most likely token (arXiv:2407.01082)
  uint64_t seed = 1;
};

struct SearchOptions {
  Tokens eos_ids = {};  // tokens that end a text
  TokenRules rules = {};
  Sampling sampling = {};

  int64_t num_beams = 1;         // k, hypotheses that run in parallel
  int64_t num_beam_groups = 1;   // groups that they are divided into (arXiv:1610.02424)
  double diversity_penalty = 0;  // subtracted from a token's score per earlier group that chose it
  double length_penalty = 1;     // a: scores are log-probabilities / length^a
  double word_penalty = 0;       // subtracted per token, as in Marian
  double coverage_penalty = 0;   // b: source tokens with little attention in all, sum c, add
                                 // b ln(min(c, 1)) to the score (arXiv:1609.08144, equation 14)
  EarlyStopping early_stopping = EarlyStopping::kNo;
  int64_t num_return_sequences = 1;  // returned hypotheses; samples if sampling is enabled
};

/// A prompt to continue.
struct Prompt {
  Tokens tokens;                   // not empty; of an encoder-decoder the decoder's first tokens
  Tokens source = {};              // input of the encoder
  Tokens output_tokens = {};       // the only tokens with logits, ascending; empty: all
  int64_t answer_tokens = 0;       // number of last `tokens` that already belong to the answer
  int64_t index = 0;               // identifies its samples
  int64_t max_new_tokens = 128;    // new tokens
  int64_t min_new_tokens = 0;      // minimum new tokens before the end
  bool is_length_limited = false;  // whether the model's length limits `max_new_tokens`
};

struct Hypothesis {
  Tokens tokens;               // new ones, including the end token
  double log_probability = 0;  // their sum, by the model alone; of beams after the rules
  double score = 0;            // log_probability / length^a, with the penalties
  bool has_ended = false;      // by an end token or a stop condition, not by length
};

/// Callbacks of a running search.
struct SearchHooks {
  /// Whether a text ends after these new tokens for a reason other than its last token.
  std::function<bool(std::span<const int64_t> generated)> is_stopped = {};
  /// Called with each token once it is final; searches without beams only.
  std::function<void(int64_t prompt, int64_t token)> on_token = {};
  /// Called once a step; may throw to end the search.
  std::function<void()> on_step = {};
};

}  // namespace weft::models
