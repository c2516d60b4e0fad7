#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/recurrent.h"

/// The passes of recurrent_states over the steps of a batch, without autograd. Tensors of N rows
/// are ordered by time; all tensors are contiguous.
namespace weft::kernels {

/// What both passes read.
struct RecurrentBatch {
  CellRule rule;
  CellWeights weights;
  RecurrentState before;        // of counts[0] sequences or more
  std::vector<int64_t> counts;  // tokens of each step
};

/// What the forward pass leaves.
struct RecurrentResult {
  /// (N, S), (N, H); a GRU with the reset after the product has a cell state here, the state's part
  /// of the candidate.
  RecurrentState after;
  at::Tensor gates;  // (N, gates) after their activation; undefined for a cell without gates
};

/// from_input (N, gates).
RecurrentResult recurrent_forward(const RecurrentBatch& batch, const at::Tensor& from_input);

/// The gradients that are wanted; those of input and bias always are.
struct RecurrentNeeds {
  bool weight = true;
  bool projection = true;
  bool before = true;
};

struct RecurrentGradients {
  at::Tensor input;       // (N, gates)
  at::Tensor bias;        // (gates)
  at::Tensor weight;      // undefined if not wanted, or accumulated into the leaf's gradient
  at::Tensor projection;  // the same
  RecurrentState before;  // undefined if not wanted
};

/// gradient (N, S): of the states.
RecurrentGradients recurrent_backward(const RecurrentBatch& batch,
                                      const RecurrentResult& result,
                                      const at::Tensor& gradient,
                                      const RecurrentNeeds& needs);

}  // namespace weft::kernels
