#pragma once

#include "nn/attention/attention.h"

namespace weft::nn {

struct LongformerOptions {
  int64_t window = 512;       // tokens around each token, half on each side
  int64_t global_tokens = 1;  // first tokens of a sequence that see and are seen by all
};

/// Type `longformer` (arXiv:2004.05150, section 3.1): a window for most tokens; global tokens have
/// projections of their own. Throws config::Error for causal models.
AttentionMaker read_longformer_attention(config::Section& section);
std::shared_ptr<Attention> make_longformer_attention(const AttentionOptions& options,
                                                     const LongformerOptions& longformer);

}  // namespace weft::nn
