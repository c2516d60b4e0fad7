#pragma once

#include <memory>

#include "nn/attention/attention.h"
#include "nn/sublayer.h"

namespace weft::nn {

/// Cross attention of a decoder whose source is one state for each sequence, so that the weights
/// are 1 and nothing is left of it but a projection of that state, added to each token
/// (arXiv:1905.06566, section 3.2). `forward` throws c10::Error for other sources and in
/// generation. Uses `dim` and `has_bias`.
std::shared_ptr<Sublayer> make_single_state_attention(const AttentionOptions& options);

}  // namespace weft::nn
