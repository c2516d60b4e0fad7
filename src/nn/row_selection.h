#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Tokens of a packed batch whose last hidden states are needed. For the other tokens the last
/// layer computes only keys and values.
struct RowSelection {
  at::Tensor index;        // (M) int64 of the N tokens, on the model's device; grouped by sequence
  kernels::Layout layout;  // selected rows per sequence, possibly none
  int64_t first_row = 0;   // selected rows of the step in earlier micro-batches

  /// Selects rows grouped by sequence, in sequence order; repeats are allowed. `first_row` rows of
  /// the step were selected before. Throws c10::Error.
  static RowSelection from_rows(const std::vector<int64_t>& rows,
                                const ForwardContext& context,
                                int64_t first_row);
  /// The first token of each sequence.
  static RowSelection first_tokens(const ForwardContext& context);
  /// The last token of each sequence; none may be empty.
  static RowSelection last_tokens(const ForwardContext& context);

  /// (N, D) -> (M, D)
  at::Tensor select(const at::Tensor& x) const;
  /// The context for modules that receive only these rows and transform each independently.
  ForwardContext select(const ForwardContext& context) const;
};

// Rows that are all different: their gradients need no sums, which LibTorch's index_select does
// one row after another.

/// rows (M) int64, all different: (N, D) -> (M, D).
at::Tensor select_distinct_rows(const at::Tensor& x, const at::Tensor& rows);

/// The inverse, with zeros in the other rows: (M, D) -> (count, D).
at::Tensor scatter_distinct_rows(const at::Tensor& x, const at::Tensor& rows, int64_t count);

}  // namespace weft::nn
