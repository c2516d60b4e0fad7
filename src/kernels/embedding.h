#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::kernels {

/// Sum of embeddings: word[ids] + position[positions] + type[types]. Tables (V, D), (P, D), (T, D);
/// ids, positions, types (N) int64; the position and type tables may be undefined. -> (N, D) in the
/// tables' dtype. The gradient of each table is dense and accumulated in fp32.
at::Tensor embedding_sum(const at::Tensor& word,
                         const at::Tensor& ids,
                         const at::Tensor& position,
                         const at::Tensor& positions,
                         const at::Tensor& type,
                         const at::Tensor& types);

/// Rows of x (N, D): rows (M) int64 -> (M, D). The gradient of a row that occurs several times is
/// summed in fp32, in a fixed order.
at::Tensor gather_rows(const at::Tensor& x, const at::Tensor& rows);

/// Mean embedding of each sequence: table (V, D), ids (N) int64 -> (B, D) in the table's dtype,
/// added up in fp32; zeros for a sequence without ids. Gradients as above.
at::Tensor embedding_mean(const at::Tensor& table, const at::Tensor& ids, const Layout& layout);

}  // namespace weft::kernels
