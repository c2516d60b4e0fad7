#pragma once

#include "nn/attention/attention.h"

namespace weft::nn {

/// Type `scored`, with the key `score` and the keys of that score function: full attention whose
/// scores are not scaled dot products (nn/attention/score_functions.h). All heads share the weights
/// of the score function.
AttentionMaker read_scored_attention(config::Section& section);

}  // namespace weft::nn
