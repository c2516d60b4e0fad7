#pragma once

#include <ATen/core/Tensor.h>

namespace weft::kernels {

/// Draws a column of each row from softmax(logits), (M, C): the one at which the sum of the
/// probabilities, from the left, passes the row's number. `uniforms` (M), doubles of [0, 1).
/// -> (M) int64, without gradient; the same whatever the number of threads.
at::Tensor draw_columns(const at::Tensor& logits, const at::Tensor& uniforms);

}  // namespace weft::kernels
