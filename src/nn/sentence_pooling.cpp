#include "nn/sentence_pooling.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>

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

}  // namespace weft::nn
