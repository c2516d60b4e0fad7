#pragma once

#include "config/section.h"
#include "nn/sublayer.h"

namespace weft::nn {

/// The sub-layer `v`: the convolution module of Conformer (arXiv:2005.08100, section 2.2), with the
/// norm of the model in place of the batch norm.
SublayerDefinition::Maker read_convolution(config::Section& section);

}  // namespace weft::nn
