#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// Rows of gates per row of the state.
int64_t gates_of(Cell cell);

/// What a recurrent layer keeps of a sequence.
struct RecurrentState {
  at::Tensor state;   // (B, H)
  at::Tensor memory;  // (B, H) fp32, of an LSTM only
};

/// One step of a cell, of plain operations of LibTorch, differentiable on every device.
/// from_input, from_state (b, gates) -> the state after.
RecurrentState cell_step(Cell cell,
                         const at::Tensor& from_input,
                         const at::Tensor& from_state,
                         const RecurrentState& before);

/// Whether recurrent_states supports the tensor's device and dtype.
bool has_recurrent_kernel(const at::Tensor& from_input);

/// The states after all tokens of a batch whose rows are ordered by time: `counts[t]` sequences
/// have a token t, the first ones of those of the step before. Equal to cell_step with from_state =
/// state U^T + bias. from_input (N, gates), weight U (gates, H), bias (gates), before: of counts[0]
/// sequences, without gradient -> state (N, H), memory (N, H) without gradient.
RecurrentState recurrent_states(Cell cell,
                                const at::Tensor& from_input,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const RecurrentState& before,
                                const std::vector<int64_t>& counts);

/// Row i of the result is row order[i] of x; `inverse`: where each row of x goes. (N, F) -> (N, F).
at::Tensor permuted_rows(const at::Tensor& x,
                         const std::vector<int64_t>& order,
                         const std::vector<int64_t>& inverse);

}  // namespace weft::kernels
