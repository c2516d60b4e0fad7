#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"
#include "nn/pass.h"

namespace weft::nn {

/// Tokens of a packed batch whose last hidden states someone reads. What the others' would cost
/// beyond the keys and values of the last layer is spared.
struct ChosenRows {
  at::Tensor index;        // (M) int64 of the N tokens, on the model's device; sequence by sequence
  kernels::Layout layout;  // how many of each sequence: some may have none
  int64_t first_row = 0;   // chosen ones of the step that came in earlier micro-batches

  /// Rows sequence by sequence, one perhaps twice, in a step in which `first_row` of them came
  /// before. Throws c10::Error.
  static ChosenRows of(const std::vector<int64_t>& rows, const Pass& pass, int64_t first_row);
  /// The first token of each sequence.
  static ChosenRows first_tokens(const Pass& pass);
  /// The last token of each sequence; none may be empty.
  static ChosenRows last_tokens(const Pass& pass);

  /// (N, D) -> (M, D)
  at::Tensor of(const at::Tensor& x) const;
  /// The same pass for modules that get these rows alone, and change each by itself.
  Pass of(const Pass& pass) const;
};

}  // namespace weft::nn
