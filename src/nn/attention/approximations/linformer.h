#pragma once

#include "nn/attention/attention.h"

namespace weft::nn {

struct LinformerOptions {
  int64_t landmarks = 256;         // R, reduced keys of each sequence
  int64_t length = 512;            // of the longest sequence
  bool shares_projections = true;  // of keys and values
};

/// Type `linformer` (arXiv:2006.04768): each sequence of length l has R keys E k and values F v,
/// where E and F are the first l columns of learned matrices (R, length). Positions are not part of
/// the keys; RoPE rotates them before the reduction. Throws config::Error for causal models and for
/// relative positions.
AttentionMaker read_linformer_attention(config::Section& section);
std::shared_ptr<Attention> make_linformer_attention(const AttentionOptions& options,
                                                    const LinformerOptions& linformer);

}  // namespace weft::nn
