#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/decoding/search_options.h"
#include "models/inference.h"
#include "models/model.h"
#include "nn/output/output_layer.h"

namespace weft::models {

// Prompts with `output_tokens` have logits of these tokens only: column c of a row is output token
// c of its prompt. Rows of prompts with fewer tokens end with -infinity.

/// The columns of a prompt's row of logits that belong to tokens.
std::span<const float> without_padding(std::span<const float> row, const Prompt& prompt);
/// The token of a column of the logits.
int64_t token_of(int64_t column, const Prompt& prompt);
/// The row by token, with -infinity for tokens that have no logits; up to the last one that has.
std::vector<float> scores_by_token(std::span<const float> row, const Prompt& prompt);

/// Computes the logits of a batch of prompts: with one product for the output tokens of all of
/// them, of which each row keeps its own. So a row does not depend on the other prompts.
class OutputSelection {
 public:
  /// `output`: from prepare_for_decoding. Either all prompts have output tokens, or none.
  OutputSelection(Model& model, const DecodingOutput& output, const std::vector<Prompt>& prompts);

  /// Row i is of the prompt of the former row rows[i].
  void reorder(const std::vector<int64_t>& rows);
  /// Logits of the states of each row, `each` of them one after the other: (R each, C).
  at::Tensor logits(const nn::TokenStates& states, int64_t each) const;

 private:
  /// The tokens of all prompts, ascending.
  Tokens select(const std::vector<Prompt>& prompts);

  Model& model_;
  const DecodingOutput& output_;
  std::optional<DecodingOutput> selected_;  // in place of `output_`
  std::vector<int64_t> row_prompts_;        // of the rows
  at::Tensor columns_;                      // (B, C) of the product; undefined: rows keep all
  at::Tensor is_padding_;                   // (B, C); undefined: there is none
  at::Tensor row_columns_;                  // (R, C)
  at::Tensor row_is_padding_;               // (R, C)
};

}  // namespace weft::models
