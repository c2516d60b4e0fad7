#pragma once

#include <ATen/core/Tensor.h>

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

}  // namespace weft::kernels
