#pragma once

#include "nn/pooling/sequence_pooling.h"

namespace weft::nn {

/// Type `multihead_attention`: a learned vector attends to the tokens of each sequence, with a
/// residual feed-forward and norms around it (PMA with one seed, arXiv:1810.00825, section 3.2).
SequencePoolingMaker read_multihead_attention_pooling(config::Section& section);

}  // namespace weft::nn
