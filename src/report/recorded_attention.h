#pragma once

#include <cstdint>
#include <map>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "report/report.h"

namespace weft::report {

/// Attention weights of one example: by layer, (H, L, S) fp32 on the host. A decoder's layers are
/// numbered after those of its encoder.
struct RecordedAttention {
  std::map<int64_t, at::Tensor> layers;
  std::map<int64_t, at::Tensor> cross_layers;  // of a decoder, to its encoder
};

/// Throws c10::Error for types of attention that have no weights.
RecordedAttention recorded_attention(const LoadedRun& run, const data::Batch& batch);

/// Attention rollout (arXiv:2005.00928), (L, L) fp64: the product over the layers of their mean
/// weights, each with half of the residual connection. Undefined without layers.
at::Tensor attention_rollout(const std::map<int64_t, at::Tensor>& layers);

}  // namespace weft::report
