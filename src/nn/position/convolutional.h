#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Type `convolutional`: the embeddings, plus a convolution of them over each sequence, which is
/// surrounded by zeros and so tells tokens where they are. `grouped`: with a GELU
/// (arXiv:2006.11477, section 2); `depthwise`: a kernel for each feature (arXiv:2102.10882,
/// section 3.3). Throws config::Error for causal models, whose later tokens it would show.
PositionMaker read_convolutional_position(config::Section& section);

}  // namespace weft::nn
