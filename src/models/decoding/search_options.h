#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::models {

using Tokens = std::vector<int64_t>;

/// When a beam search whose list of finished hypotheses is full ends, as in transformers. kNo: when
/// the best running one scores no better at its present length; kNever: when it cannot score better
/// at any length; kYes: at once.
enum class EarlyStopping { kNo, kYes, kNever };

/// What a token must obey to be chosen, in the order in which transformers applies it.
struct TokenRules {
  double repetition_penalty = 1;    // tokens that are there already (arXiv:1909.05858); 1: none
  int64_t no_repeat = 0;            // no n-gram of this size stands twice; 0: any may
  std::vector<Tokens> banned = {};  // words that may not be completed
  Tokens allowed = {};              // tokens that may be given, ends beside; empty: all
  Tokens suppressed = {};           // tokens that may not
  Tokens suppressed_first = {};     // nor as the first one given
  int64_t forced_first = -1;        // after a prompt of one token, what must come; -1: anything
  int64_t forced_last = -1;         // what must come at the greatest length
  bool renormalizes = false;        // what is left of the probabilities makes one again
};

/// How the next token is drawn.
struct Sampling {
  bool is_on = false;      // off: the most likely one is taken
  double temperature = 1;  // logits are divided by it
  int64_t top_k = 0;       // most likely tokens that are looked at; 0: all
  double top_p = 1;        // of which those that make up this mass (arXiv:1904.09751)
  double min_p = 0;        // and are as likely as this share of the likeliest (arXiv:2407.01082)
  uint64_t seed = 1;
};

struct SearchOptions {
  Tokens end_ids = {};  // tokens that end a text
  TokenRules rules = {};
  Sampling sampling = {};

  int64_t beams = 1;          // k, hypotheses that run beside each other
  int64_t groups = 1;         // of them, that are kept apart (arXiv:1610.02424)
  double diversity = 0;       // taken off a token's score for each earlier group that chose it
  double length_penalty = 1;  // a: scores are log-probabilities / length^a
  double word_penalty = 0;    // taken off for each token, as Marian has it
  EarlyStopping early_stopping = EarlyStopping::kNo;
  int64_t best = 1;  // hypotheses wanted; sampled ones where sampling is on
};

/// A beginning that is to be gone on with.
struct Prompt {
  Tokens tokens;            // not empty; of an encoder-decoder what the decoder begins with
  Tokens source = {};       // what the encoder reads
  int64_t begun = 0;        // the last of `tokens` that begin the answer already
  int64_t index = 0;        // names its draws
  int64_t most = 128;       // new tokens
  int64_t least = 0;        // new tokens before an end is allowed
  bool lacks_room = false;  // `most` is what the model's length leaves of more
};

struct Hypothesis {
  Tokens tokens;               // new ones, an end among them
  double log_probability = 0;  // their sum, by the model itself; of beams by the rules too
  double score = 0;            // log_probability / length^a, less what words cost
  bool has_ended = false;      // by an end or a stop, not by its length
};

/// Who wants to know, or say, more while a search runs.
struct SearchHooks {
  /// Whether a text ends with these new tokens for another reason than its last token.
  std::function<bool(std::span<const int64_t> generated)> is_stopped = {};
  /// Each token as soon as it is sure: of searches without beams.
  std::function<void(int64_t prompt, int64_t token)> on_token = {};
  /// Called once a step; may throw to end the search.
  std::function<void()> on_step = {};
};

}  // namespace weft::models
