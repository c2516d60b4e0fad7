#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/decoding/search_options.h"

namespace weft::models {

/// The model's scores of the tokens that may follow a sequence.
struct NextScores {
  std::span<const float> scores;
  float log_normalizer = 0;              // the log-probability of a token is its score less this
  std::span<const int64_t> tokens = {};  // of the scores; empty: their positions
};

/// Running and finished hypotheses of one prompt (of one group of its beams). The rules are those
/// of transformers: of the best continuations of a step the first k may end, k unfinished ones
/// continue, and the k best finished ones are kept.
class Beam {
 public:
  struct Running {
    Tokens tokens;                     // prompt and new ones
    float score = 0;                   // sum of log-probabilities
    int64_t row = 0;                   // decoder row that its last token was appended to
    std::vector<float> coverage = {};  // sums of the attention to the source tokens, if needed
  };

  /// `beams`: k.
  Beam(const Prompt& prompt, const SearchOptions& options, int64_t beams);

  const std::vector<Running>& running() const { return running_; }
  bool is_done() const { return is_done_; }

  using IsStopped = std::function<bool(std::span<const int64_t>)>;
  /// Advances by one token. `next_scores`: of each running hypothesis, rules applied. `rows`: their
  /// rows of the decoder. `source_attention`: of these rows, if there is a coverage penalty.
  void advance(const std::vector<NextScores>& next_scores,
               const std::vector<int64_t>& rows,
               const IsStopped& is_stopped,
               const std::vector<std::vector<float>>& source_attention = {});

  /// Finished hypotheses, best first.
  std::vector<Hypothesis> results() const;

 private:
  struct Candidate {
    float score;
    std::size_t parent;
    int64_t token;
  };
  struct Finished {
    Tokens tokens;  // new ones
    float sum;
    float score;
    bool has_ended;
  };

  std::vector<Candidate> best_candidates(const std::vector<NextScores>& next_scores) const;
  void finish(Finished&& finished);
  bool is_full() const { return finished_.size() == beams_; }
  /// Whether a running hypothesis can still beat the finished ones.
  bool may_improve() const;
  float score_of(float sum, int64_t length) const;
  float coverage_score(const std::vector<float>& coverage) const;
  int64_t generated() const;

  const SearchOptions& options_;
  std::size_t beams_;
  int64_t prompt_;  // number of its tokens
  int64_t max_new_tokens_;
  std::vector<Running> running_;
  std::vector<Finished> finished_;  // best first
  bool is_done_ = false;
};

}  // namespace weft::models
