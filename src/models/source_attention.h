#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/config/options.h"
#include "nn/attention/attention_recorder.h"

namespace weft::models {

/// Throws UserError for a model without a source.
void require_source(const ModelOptions& options);

/// The layers for the recorder of a decoder's pass: the last of a Transformer, or the attention of
/// a recurrent decoder.
std::vector<int64_t> source_attention_layers(const ModelOptions& options);

/// Attention of the last of them to the source, the mean of its heads: (L, S) fp32 on the host of
/// each sequence. Throws UserError for a decoder without such attention.
std::vector<at::Tensor> last_source_attention(const nn::AttentionRecorder& recorder,
                                              const ModelOptions& options);

}  // namespace weft::models
