#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "models/decoding/search_options.h"
#include "models/model.h"

namespace weft::inference {

/// A text, and what comes after it.
struct Continuation {
  std::string context;
  std::string continuation;
};

struct Likelihood {
  double log_probability = 0;  // of the continuation, natural logarithm
  bool is_greedy = true;       // whether each of its tokens is the model's likeliest
  int64_t tokens = 0;          // of the continuation
  bool was_cut = false;        // the model sees less than all of the context
};

struct LikelihoodSettings {
  int64_t batch_tokens = 4096;         // of a batch
  std::function<void()> on_step = {};  // called once a batch; may throw to end it all
};

/// How likely a model that generates finds texts. Texts are cut into tokens as
/// lm-evaluation-harness does it: white space at a context's end belongs to what follows; the
/// tokens of the continuation are those of both texts together that go beyond the context's (of an
/// encoder-decoder each text has its own); a context of nothing is the token that begins texts. A
/// context that is too long loses its begin; a continuation longer than the model reads goes
/// through in windows as whole texts do, but of models that tell it from its prompt the end alone
/// counts. No result depends on the batches.
class LikelihoodScorer {
 public:
  /// Throws UserError for a model that does not generate.
  LikelihoodScorer(models::Model& model,
                   const data::Tokenizer& tokenizer,
                   LikelihoodSettings settings = {});

  std::vector<Likelihood> score(const std::vector<Continuation>& items) const;

  /// Of whole texts, in windows of the model's length: each token is seen once, after as many
  /// tokens as its window has before it.
  std::vector<Likelihood> score_texts(const std::vector<std::string>& texts) const;

 private:
  /// One row of the model's work: the tokens that it reads, and those that are looked for.
  struct Window {
    std::size_t item = 0;
    models::Tokens source;   // of the encoder
    models::Tokens inputs;   // of the decoder
    models::Tokens targets;  // what comes after the last ones of the inputs
    int64_t prefix = 0;      // of the inputs, nn::Pass
    int64_t cost() const { return static_cast<int64_t>(source.size() + inputs.size()); }
  };

  int64_t beginning() const;
  void add_continuation(std::size_t item,
                        const Continuation& raw,
                        std::vector<Window>& windows,
                        Likelihood& result) const;
  /// `before`: the token that the first window has before them.
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
  int64_t length_;  // most tokens that the model reads
};

}  // namespace weft::inference
