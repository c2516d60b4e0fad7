#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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
  int64_t batch_tokens = 4096;         // maximum per batch
  std::function<void()> on_step = {};  // called once per batch; may throw to abort
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
  /// Throws UserError for a model that cannot generate.
  LikelihoodScorer(models::Model& model,
                   const data::Tokenizer& tokenizer,
                   LikelihoodSettings settings = {});

  std::vector<Likelihood> score(const std::vector<Continuation>& items) const;

  /// Scores whole texts in windows of the model's length: each token once, given the tokens before
  /// it in its window.
  std::vector<Likelihood> score_texts(const std::vector<std::string>& texts) const;

 private:
  /// One sequence for the model: the tokens that it reads, and the targets to score.
  struct Window {
    std::size_t item = 0;
    models::Tokens source;   // encoder input
    models::Tokens inputs;   // decoder input
    models::Tokens targets;  // targets of the last input positions
    int64_t prefix = 0;      // length in the inputs, see nn::ForwardContext
    int64_t token_count() const { return static_cast<int64_t>(source.size() + inputs.size()); }
  };

  int64_t begin_token() const;
  void add_continuation(std::size_t item,
                        const Continuation& raw,
                        std::vector<Window>& windows,
                        Likelihood& result) const;
  /// `before`: the token in front of the first window.
  void add_windows(std::size_t item,
                   int64_t before,
                   const models::Tokens& tokens,
                   std::vector<Window>& windows) const;
  void compute(std::vector<Window>& windows, std::vector<Likelihood>& results) const;
  void compute_batch(const std::vector<const Window*>& batch,
                     std::vector<Likelihood>& results) const;

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  LikelihoodSettings settings_;
  bool reads_source_;
  int64_t length_;  // maximum number of tokens that the model reads
};

}  // namespace weft::inference
