#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "nn/attention/attention_trace.h"

namespace weft::inference {

/// Who looked at whom in one sequence.
struct AttentionMap {
  std::vector<int64_t> ids;              // L
  std::vector<int64_t> segments;         // L, 0 and 1; empty where there is one text alone
  std::map<int64_t, at::Tensor> layers;  // (H, L, L) fp32 on the host; rows look at columns
};

/// What the trace saw of each sequence of the batch.
std::vector<AttentionMap> attention_maps(const nn::AttentionTrace& trace, const data::Batch& batch);

/// Which text of a pair each token belongs to, what stands between them to the first.
std::vector<int64_t> segments_of_pair(const data::Tokenizer& tokenizer,
                                      int64_t first,
                                      int64_t second);

/// Throws UserError where the model has not all of the layers, or layers of another kind.
void check_attention_layers(const models::Model& model, const std::vector<int64_t>& layers);

}  // namespace weft::inference
