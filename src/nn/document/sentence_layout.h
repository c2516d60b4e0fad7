#pragma once

#include "nn/forward_context.h"

namespace weft::nn {

/// The two contexts of a nested batch, tokens -> sentences -> documents. The key of each row's and
/// each sequence's dropout counts the sentences of earlier micro-batches, so that it does not
/// depend on the split of a step. The attention of divided texts is not recorded.

/// For the rows of tokens, (N, D): each sentence of ForwardContext::sentences is a sequence.
/// Throws c10::Error if they are not all tokens of the sequences.
ForwardContext sentence_context(const ForwardContext& context);

/// For the rows of sentences, (S, D): each sequence of the context is one of its sentences.
ForwardContext document_context(const ForwardContext& context);

}  // namespace weft::nn
