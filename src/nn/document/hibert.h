#pragma once

#include "nn/document/document_encoder.h"

namespace weft::nn {

/// HIBERT (arXiv:1905.06566, section 3.1): the layers of the sentences, then a second encoder over
/// the vectors of the sentences and their positions. What a token is does not depend on other
/// sentences.
DocumentEncoderDefinition::Maker read_hibert(config::Section& section);

}  // namespace weft::nn
