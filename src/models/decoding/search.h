#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "models/decoding/search_options.h"

namespace weft::models {

/// Computes next-token logits for a search, which decides which sequences stay alive. V: the
/// vocabulary, or fewer columns for prompts with output tokens (output_tokens.h).
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Returns the logits after the prompts, (B, V).
  virtual at::Tensor first() = 0;
  /// Sequence i continues sequence rows[i] with tokens[i]; the others are dropped. Returns (R, V).
  virtual at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) = 0;

  /// Called before the first step if the search needs source_attention(). Throws UserError if there
  /// is none.
  virtual void record_source_attention();
  /// How much the last token of each sequence attends to each token of its source, in the last
  /// step.
  virtual const std::vector<std::vector<float>>& source_attention() const;
};

/// Continues each prompt: greedily, by sampling, or with beam search. Returns the requested
/// hypotheses of each prompt, best first (samples in the order of their numbers). The results of a
/// prompt do not depend on the others. Throws UserError for options that cannot be combined.
std::vector<std::vector<Hypothesis>> search(Decoder& decoder,
                                            const std::vector<Prompt>& prompts,
                                            const SearchOptions& options,
                                            const SearchHooks& hooks = {});

/// Greedy search or sampling, without beams.
std::vector<std::vector<Hypothesis>> greedy_or_sampling_search(Decoder& decoder,
                                                               const std::vector<Prompt>& prompts,
                                                               const SearchOptions& options,
                                                               const SearchHooks& hooks);

/// Beam search; each group keeps its beams separate.
std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder,
                                                 const std::vector<Prompt>& prompts,
                                                 const SearchOptions& options,
                                                 const SearchHooks& hooks);

/// The rows of x in this order; x itself if they are all of its rows as they are.
at::Tensor select_rows(const at::Tensor& x, const std::vector<int64_t>& rows);

/// log_probability / length^a, less the word penalty.
double hypothesis_score(double log_probability, int64_t length, const SearchOptions& options);

bool is_end(int64_t token, const SearchOptions& options);

/// Whether the model's length truncated the text.
bool is_truncated_by_length(const Hypothesis& hypothesis,
                            const Prompt& prompt,
                            const SearchOptions& options);

}  // namespace weft::models
