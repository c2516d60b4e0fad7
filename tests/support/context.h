#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/layout.h"
#include "nn/forward_context.h"

namespace weft::test {

/// The context of a forward pass over packed sequences with these offsets, on the CPU, not
/// training.
inline nn::ForwardContext context_of(std::vector<int64_t> offsets) {
  nn::ForwardContext context;
  context.layout = kernels::Layout::from_offsets(std::move(offsets), at::kCPU);
  return context;
}

}  // namespace weft::test
