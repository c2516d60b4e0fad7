#include "nn/embedding/step_embedding.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/sum.h"
#include "nn/position/position_types.h"

namespace weft::nn {

StepEmbeddingImpl::StepEmbeddingImpl(StepEmbeddingType type, int64_t layers, int64_t dim)
    : type_(type), layers_(layers) {
  if (type == StepEmbeddingType::kLearned) {
    table_ = register_parameter("table", at::empty({layers, dim}));
  }
}

at::Tensor StepEmbeddingImpl::forward(const at::Tensor& x,
                                      std::size_t layer,
                                      const ForwardContext& context) {
  const auto index = static_cast<int64_t>(layer);
  if (type_ == StepEmbeddingType::kLearned) {
    return x + kernels::repeat_row(table_.select(0, index), x.size(0)).to(x.scalar_type());
  }
  const auto table =
      sinusoids_.at_least(std::max(context.layout.position_limit, layers_ + 1), x.device(),
                          [&](int64_t rows) { return sinusoids(rows, x.size(1), true); });
  const auto added = table.index_select(0, context.layout.positions) + table.select(0, index + 1);
  return x + added.to(x.scalar_type());
}

}  // namespace weft::nn
