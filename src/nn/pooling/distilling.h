#pragma once

#include "config/section.h"
#include "nn/sublayer.h"

namespace weft::nn {

/// The sub-layer `d`: the distilling of Informer between two layers of an encoder, which halves the
/// length of each sequence (arXiv:2012.07436, section 3.3): a convolution over three tokens, a
/// norm, ELU, and the maximum over three tokens at every second one. l tokens leave ceil(l / 2)
/// rows. Convolution and windows begin and end with each sequence. Batch norm would make results
/// depend on the other texts of a batch; here the norm is that of the model, or takes the mean and
/// variance of each feature over the tokens of a text.
SublayerDefinition::Maker read_distilling(config::Section& section);

}  // namespace weft::nn
