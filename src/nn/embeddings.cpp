#include "nn/embeddings.h"

#include <ATen/Functions.h>

#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "nn/sites.h"

namespace weft::nn {

Table::Table(int64_t rows, int64_t dim) {
  weight_ = register_parameter("weight", at::empty({rows, dim}));
}

Embeddings::Embeddings(const EmbeddingsOptions& options) : options_(options) {
  word_ = make_part<Table>("word", options.vocabulary, options.dim);
  position_ = register_module("position", make_position(options.position));
  if (options.segments > 0) {
    segment_ = make_part<Table>("segment", options.segments, options.dim);
  }
  norm_ = register_module("norm", make_norm(options.norm));
}

at::Tensor Embeddings::forward(const at::Tensor& ids, const at::Tensor& types, const Pass& pass) {
  TORCH_CHECK(ids.dim() == 1 && ids.size(0) == pass.layout.tokens(), "Embeddings expects (",
              pass.layout.tokens(), ") ids, got ", ids.sizes());
  const auto position = position_->rows(pass.layout);
  const auto segments = !segment_ || types.defined() ? types : at::zeros_like(ids);
  const auto sum = kernels::embedding_sum(word_->weight(), ids, position.table, position.rows,
                                          segment_ ? segment_->weight() : at::Tensor(),
                                          segment_ ? segments : at::Tensor());  // (N, D)
  return kernels::dropout(norm_->forward(sum), pass.rate(options_.dropout),
                          pass.chance(site(Site::kEmbedding)));
}

}  // namespace weft::nn
