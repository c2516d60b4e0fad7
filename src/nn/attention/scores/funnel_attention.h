#pragma once

#include <memory>

#include "nn/attention/attention.h"

namespace weft::nn {

/// Attention of Funnel-Transformer (arXiv:2006.03236, appendix A.2) with Transformer-XL's positions
/// and biases for tokens of the same and of different types. Queries may be pooled rows: keys and
/// values are then ForwardContext::encoder_states. `separate_cls`: the scores of the first token
/// have neither positions nor types.
std::shared_ptr<Attention> make_funnel_attention(const AttentionOptions& options,
                                                 bool separate_cls);

}  // namespace weft::nn
