#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/tokenizer.h"
#include "models/decoding/search_options.h"
#include "models/model.h"

namespace weft::inference {

/// A context and the text that follows it.
struct Continuation {
  std::string context;
  std::string continuation;
};

struct Likelihood {
  double log_probability = 0;  // of the continuation, natural logarithm
  bool is_greedy = true;       // whether each of its tokens is the model's argmax
  int64_t tokens = 0;          // of the continuation
  bool was_truncated = false;  // the model does not see all of the context
};

struct LikelihoodSettings {
  std::optional<int64_t> batch_tokens = std::nullopt;  // of a batch, as in batching::run_batches
  int64_t max_length = 0;  // tokens per window; 0: the length in the model's config
  int64_t stride = 0;      // tokens scored per window of a text; 0: max_length
  /// Called once per batch, by several threads; may throw to abort.
  std::function<void()> on_step = {};
  std::function<void(double fraction)> on_progress = {};  // with the scored part of whole texts
};

/// Log-likelihood of texts under a generative model. Tokenisation follows lm-evaluation-harness:
/// white space at the end of a context moves to the continuation; the continuation's tokens are
/// those of the joint text after as many as the context has (encoder-decoders tokenise both
/// separately); an empty context becomes the token that begins texts. A context that is too long
/// loses its start. A continuation longer than the model's limit is scored in windows, like whole
/// texts; models that separate it from the prompt score only its end. Results do not depend on
/// batching.
class LikelihoodScorer {
 public:
  /// Throws UserError for a model that cannot generate, a max_length of more tokens than the model
  /// has positions, and a stride of more tokens than a window has.
  LikelihoodScorer(models::Model& model,
                   const data::Tokenizer& tokenizer,
                   LikelihoodSettings settings = {});

  /// Throws UserError for a continuation without tokens of its own.
  std::vector<Likelihood> score(const std::vector<Continuation>& items) const;

  /// Scores whole texts in windows of max_length tokens: each token once, given the tokens before
  /// it in its window. A window begins `stride` tokens after the one before it and scores its last
  /// `stride` tokens, so that each has at least max_length - stride tokens of context.
  std::vector<Likelihood> score_texts(const std::vector<std::string>& texts) const;

 private:
  /// Sequences to compute, whose targets are scored, and where their results go.
  struct Pending {
    std::vector<Likelihood>& results;
    int64_t most_tokens;  // are computed as soon as there are so many
    int64_t text_tokens;  // of all whole texts; 0: none
    int64_t scored = 0;   // targets so far
    int64_t tokens = 0;   // of the sequences
    std::vector<data::Example> windows = {};
    std::vector<std::size_t> items = {};  // of the results: one for each window
  };

  int64_t begin_token() const;
  void add_continuation(std::size_t item, const Continuation& raw, Pending& pending) const;
  /// `before`: the token in front of the first window.
  void add_windows(std::size_t item,
                   int64_t before,
                   const models::Tokens& tokens,
                   Pending& pending) const;
  /// `window`: without its targets, one or more; they follow its ids, and all but the last are read
  /// as well.
  void add(std::size_t item,
           data::Example window,
           std::span<const int64_t> targets,
           Pending& pending) const;
  void compute(Pending& pending) const;

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  LikelihoodSettings settings_;
  bool reads_source_;
  int64_t length_;  // maximum number of tokens that the model reads
  int64_t window_;  // tokens per window of a text, at most length_
  int64_t stride_;  // tokens that a window scores, at most window_
};

}  // namespace weft::inference
