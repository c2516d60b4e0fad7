#include "nn/pooling/pooling.h"

#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/activation.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// Numbers of the tokens within their sequences, from 1: (N, 1) fp32.
at::Tensor token_numbers(const kernels::Layout& layout) {
  const auto begins = layout.device_offsets.slice(0, 0, layout.sequences()).to(at::kLong);
  const auto first = begins.repeat_interleave(layout.device_lengths(), 0);  // (N)
  return (at::arange(1, layout.tokens() + 1, first.options()) - first).to(at::kFloat).unsqueeze(1);
}

at::Tensor pooled(const at::Tensor& hidden,
                  const kernels::Layout& layout,
                  SentencePooling pooling) {
  const auto lengths = layout.device_lengths().unsqueeze(1);  // (B, 1)
  switch (pooling) {
    case SentencePooling::kClsToken:
      return first_tokens(hidden, layout);
    case SentencePooling::kMax:
      return segment_max(hidden, layout);
    case SentencePooling::kMean:
      return segment_sum(hidden, layout) / lengths;
    case SentencePooling::kMeanSqrtLength:
      return segment_sum(hidden, layout) / lengths.sqrt();
    case SentencePooling::kWeightedMean:
      return segment_sum(hidden * token_numbers(layout), layout) / (lengths * (lengths + 1) / 2);
    case SentencePooling::kLastToken:
      return hidden.index_select(0, layout.device_offsets.slice(0, 1) - 1);
  }
  TORCH_CHECK(false, "unknown pooling");
}

at::Tensor segment_reduction(const at::Tensor& x,
                             const kernels::Layout& layout,
                             const char* reduction,
                             const std::optional<at::Scalar>& initial) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == layout.tokens(), reduction, " of segments expects (",
              layout.tokens(), ", D), got ", x.sizes());
  return at::segment_reduce(x.to(at::kFloat).contiguous(), reduction, layout.device_lengths(),
                            std::nullopt, std::nullopt, /*axis=*/0, /*unsafe=*/false, initial);
}

}  // namespace

at::Tensor pool(const at::Tensor& hidden, const kernels::Layout& layout, SentencePooling pooling) {
  TORCH_CHECK(hidden.dim() == 2 && hidden.size(0) == layout.tokens(), "pool expects (",
              layout.tokens(), ", D), got ", hidden.sizes());
  for (int64_t i = 0; i < layout.sequences(); ++i) {
    TORCH_CHECK(layout.length(i) > 0, "pool: sequence ", i, " has no tokens");
  }
  return pooled(hidden, layout, pooling).to(hidden.scalar_type());
}

at::Tensor segment_sum(const at::Tensor& x, const kernels::Layout& layout) {
  return segment_reduction(x, layout, "sum", 0);
}

at::Tensor segment_max(const at::Tensor& x, const kernels::Layout& layout) {
  return segment_reduction(x, layout, "max", std::nullopt);
}

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
