#include "nn/pooling.h"

#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/activation.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

at::Tensor pooled(const at::Tensor& tokens, SentencePooling pooling) {  // (L, D) -> (D)
  const int64_t length = tokens.size(0);
  switch (pooling) {
    case SentencePooling::kClsToken:
      return tokens.select(0, 0);
    case SentencePooling::kMax:
      return tokens.amax(0);
    case SentencePooling::kMean:
      return tokens.mean(0);
    case SentencePooling::kMeanSqrtLength:
      return tokens.sum(0) / std::sqrt(static_cast<double>(length));
    case SentencePooling::kWeightedMean: {
      const auto weights = at::arange(1, length + 1, tokens.options());
      return at::mv(tokens.t(), weights) / weights.sum();
    }
    case SentencePooling::kLastToken:
      return tokens.select(0, length - 1);
  }
  TORCH_CHECK(false, "unknown pooling");
}

}  // namespace

at::Tensor pool(const at::Tensor& hidden, const kernels::Layout& layout, SentencePooling pooling) {
  TORCH_CHECK(hidden.dim() == 2 && hidden.size(0) == layout.tokens(), "pool expects (",
              layout.tokens(), ", D), got ", hidden.sizes());
  std::vector<at::Tensor> vectors;
  for (int64_t i = 0; i < layout.sequences(); ++i) {
    const auto begin = layout.offsets[static_cast<std::size_t>(i)];
    const auto end = layout.offsets[static_cast<std::size_t>(i) + 1];
    TORCH_CHECK(end > begin, "pool: sequence ", i, " has no tokens");
    vectors.push_back(pooled(hidden.narrow(0, begin, end - begin), pooling));
  }
  return vectors.empty() ? hidden.new_empty({0, hidden.size(1)}) : at::stack(vectors);
}

at::Tensor segment_sum(const at::Tensor& x, const kernels::Layout& layout) {
  TORCH_CHECK(x.dim() == 2 && x.size(0) == layout.tokens(), "segment_sum expects (",
              layout.tokens(), ", D), got ", x.sizes());
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    lengths.push_back(layout.length(b));
  }
  return at::segment_reduce(x.to(at::kFloat).contiguous(), "sum",
                            kernels::to_device(lengths, x.device()), std::nullopt, std::nullopt,
                            /*axis=*/0, /*unsafe=*/false, /*initial=*/0);
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
