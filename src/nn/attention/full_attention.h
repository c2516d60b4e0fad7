#pragma once

#include "nn/attention/attention.h"

namespace weft::nn {

/// Type `full`: each token attends to all tokens of its sequence (arXiv:1706.03762, section 3.2)
/// or, if causal, to itself and those before it. It has no keys of its own.
AttentionMaker read_full_attention(config::Section& section);
std::shared_ptr<Attention> make_full_attention(const AttentionOptions& options);

}  // namespace weft::nn
