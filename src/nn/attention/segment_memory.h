#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// Sequences behind the tokens that their streams had before.
struct ContinuedRows {
  at::Tensor rows;              // (M, D)
  kernels::Layout layout;       // of these rows
  std::vector<int64_t> places;  // of the sequences' own tokens among them, (N)
};

/// Puts each sequence of x (N, D) behind the last `memory` rows that layer `layer` had in earlier
/// steps of its stream, which get no gradient (arXiv:1901.02860, section 3.2). Keeps those for the
/// next step in ForwardContext::carried_state.
ContinuedRows behind_memory(const at::Tensor& x,
                            int64_t memory,
                            int64_t layer,
                            const ForwardContext& context);

}  // namespace weft::nn
