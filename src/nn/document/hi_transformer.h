#pragma once

#include <cstdint>
#include <string>

#include "nn/document/document_encoder.h"

namespace weft::nn {

/// Hi-Transformer (arXiv:2106.01040, section 2): stacks of layers over the tokens of each sentence,
/// then layers over the sentences of a document, which read the state of the last token of each
/// sentence and put theirs in its place, then layers over the tokens again. The layers of the
/// sentences are divided evenly among the stacks and their two parts. So the states of tokens
/// depend on the whole document.
DocumentEncoderDefinition::Maker read_hi_transformer(config::Section& section);

/// Whether the layers of the sentences can be divided so; see DocumentEncoderDefinition::error.
std::string hi_transformer_error(const std::string& keys, int64_t sentence_layers);

}  // namespace weft::nn
