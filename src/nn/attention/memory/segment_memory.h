#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "kernels/layout.h"
#include "nn/attention/attention.h"
#include "nn/attention/memory/memory_compression.h"
#include "nn/forward_context.h"

namespace weft::nn {

/// What a layer keeps of the earlier sequences of a stream.
struct SegmentMemory {
  int64_t size = 0;  // last rows as they are; 0: no memory
  /// Of the rows before these; nullptr: they are forgotten.
  std::shared_ptr<MemoryCompression> compression = nullptr;
  int64_t compressed_size = 0;  // last compressed rows
  double loss_weight = 1;       // of the compression's loss
};

/// Throws config::Error at `type` unless the model is causal. `type`: that of the attention.
void require_causal(const config::Section& section,
                    std::string_view type,
                    const AttentionOptions& options);

/// Rows that leave the memory of a sequence, and what they are compressed to.
struct CompressedRows {
  int64_t sequence = 0;
  at::Tensor rows;        // (n rate, D), without gradient
  at::Tensor compressed;  // (n, D), with that of the compression
};

/// Sequences after the tokens that their streams had before.
struct ContinuedRows {
  at::Tensor rows;              // (M, D): compressed rows, memory, own rows of each sequence
  kernels::Layout layout;       // of these rows
  std::vector<int64_t> places;  // of the sequences' own tokens among them, (N)
  std::vector<CompressedRows> compressed;
};

/// Puts each sequence of x (N, D) after the memory of layer `layer` in the earlier steps of its
/// stream, which gets no gradient (arXiv:1901.02860, section 3.2; arXiv:1911.05507, section 3).
/// Keeps the memory of the next step in ForwardContext::carried_state. Rows are compressed in whole
/// windows: a few wait in the memory until there are enough.
ContinuedRows after_memory(const at::Tensor& x,
                           const SegmentMemory& memory,
                           int64_t layer,
                           const ForwardContext& context);

}  // namespace weft::nn
