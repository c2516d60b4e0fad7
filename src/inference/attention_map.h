#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "nn/attention/attention_recorder.h"

namespace weft::inference {

/// Attention weights of one sequence.
struct AttentionMap {
  std::vector<int64_t> ids;              // L
  std::vector<int64_t> segments;         // L, 0 and 1; empty for a single text
  std::map<int64_t, at::Tensor> layers;  // (H, L, L) fp32 on the host; rows are queries
};

/// Recorded attention of each sequence of the batch.
std::vector<AttentionMap> attention_maps(const nn::AttentionRecorder& recorder,
                                         const data::Batch& batch);

/// Segment id of each token of a pair; separators between the texts belong to the first.
std::vector<int64_t> segments_of_pair(const data::Tokenizer& tokenizer,
                                      int64_t first,
                                      int64_t second);

/// Throws UserError if the model lacks one of the layers or has no attention layers.
void check_attention_layers(const models::Model& model, const std::vector<int64_t>& layers);

}  // namespace weft::inference
