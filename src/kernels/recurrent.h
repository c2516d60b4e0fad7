#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// Rows of gates per row of the state.
int64_t gates_of(Cell cell);

/// A cell with its limits.
struct CellRule {
  Cell cell = Cell::kLstm;
  /// Of an LSTM (arXiv:1802.05365): the largest absolute value of its cell state, which becomes
  /// that where it would be larger, and of its projected state. Clipped values have no gradient.
  double cell_clip = std::numeric_limits<double>::infinity();
  double state_clip = std::numeric_limits<double>::infinity();
};

/// What a recurrent layer keeps of a sequence.
struct RecurrentState {
  at::Tensor state;       // (B, S)
  at::Tensor cell_state;  // (B, H) fp32, of an LSTM only
};

/// U h + bias of a state, or of one that the reset gate has changed: (b, H) -> (b, gates).
using StateProduct = std::function<at::Tensor(const at::Tensor& state)>;

/// One step of a cell, of plain operations of LibTorch, differentiable on every device; without a
/// projection of the state. from_input (b, gates) -> the state after.
RecurrentState cell_step(const CellRule& rule,
                         const at::Tensor& from_input,
                         const StateProduct& from_state,
                         const RecurrentState& before);

/// The projected state, clipped.
at::Tensor clipped_state(const CellRule& rule, const at::Tensor& state);

/// Whether recurrent_states supports the tensor's device and dtype.
bool has_recurrent_kernel(const at::Tensor& from_input);

/// What the state before a step is multiplied with.
struct CellWeights {
  at::Tensor state;       // U (gates, S)
  at::Tensor bias;        // (gates)
  at::Tensor projection;  // LSTM: of the state after the step (S, H), as proj_size of
                          // torch.nn.LSTM (arXiv:1402.1128); or undefined, then S = H
};

/// The states after all tokens of a batch whose rows are ordered by time: `counts[t]` sequences
/// have a token t, the first ones of those of the step before. Equal to cell_step. from_input (N,
/// gates), before: of counts[0] sequences or more -> state (N, S), cell state (N, H) without
/// gradient. The bits do not depend on the number of threads.
RecurrentState recurrent_states(const CellRule& rule,
                                const at::Tensor& from_input,
                                const CellWeights& weights,
                                const RecurrentState& before,
                                const std::vector<int64_t>& counts);

/// Row i of the result is row order[i] of x; `inverse`: where each row of x goes. (N, F) -> (N, F).
at::Tensor permuted_rows(const at::Tensor& x,
                         const std::vector<int64_t>& order,
                         const std::vector<int64_t>& inverse);

}  // namespace weft::kernels
