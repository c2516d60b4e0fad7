#include "nn/pooler.h"

#include <ATen/Functions.h>

#include "kernels/activation.h"

namespace weft::nn {

at::Tensor first_tokens(const at::Tensor& hidden, const kernels::Layout& layout) {
  const auto begins = layout.device_offsets.slice(0, 0, layout.sequences());
  return hidden.index_select(0, begins);
}

PoolerImpl::PoolerImpl(int64_t dim) {
  dense_ = register_module("dense", Linear(LinearOptions{dim, dim}));
}

at::Tensor PoolerImpl::forward(const at::Tensor& first_tokens) {
  return kernels::activate(dense_->forward(first_tokens), kernels::Activation::kTanh);
}

}  // namespace weft::nn
