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
  word_ = options.word ? options.word : make_part<Table>("word", options.vocabulary, options.dim);
  position_ = register_module("position", make_position(options.position));
  if (options.segments > 0) {
    segment_ = make_part<Table>("segment", options.segments, options.dim);
  }
  if (options.has_norm) {
    norm_ = register_module("norm", make_norm(options.norm));
  }
}

at::Tensor Embeddings::sum(const at::Tensor& ids,
                           const PositionRows& position,
                           const at::Tensor& segments) const {
  const bool is_told = segment_ && segments.defined();
  const auto segment = is_told ? segment_->weight() : at::Tensor();
  const auto types = is_told ? segments : at::Tensor();
  if (options_.scale == 1 && options_.fixed_id < 0) {
    return kernels::embedding_sum(word_->weight(), ids, position.table, position.rows, segment,
                                  types);
  }
  auto sum = kernels::embedding_sum(word_->weight(), ids, {}, {}, {}, {});
  if (options_.fixed_id >= 0) {
    sum = at::where(ids.eq(options_.fixed_id).unsqueeze(1), sum.detach(), sum);
  }
  sum = sum * options_.scale;
  if (position.table.defined()) {
    sum = sum + kernels::embedding_sum(position.table, position.rows, {}, {}, {}, {});
  }
  return segment.defined() ? sum + kernels::embedding_sum(segment, types, {}, {}, {}, {}) : sum;
}

at::Tensor Embeddings::forward(const at::Tensor& ids, const at::Tensor& types, const Pass& pass) {
  TORCH_CHECK(ids.dim() == 1 && ids.size(0) == pass.layout.tokens(), "Embeddings expects (",
              pass.layout.tokens(), ") ids, got ", ids.sizes());
  auto position = position_->rows(pass.layout);
  const bool is_filled = segment_ && options_.fills_types && !types.defined();
  const auto segments = is_filled ? at::zeros_like(ids) : types;
  if (position.table.defined() && position.table.scalar_type() != word_->weight().scalar_type()) {
    position.table = position.table.to(word_->weight().scalar_type());  // one that is not learned
  }
  const auto sum = this->sum(ids, position, segments);  // (N, D)
  return kernels::dropout(norm_ ? norm_->forward(sum) : sum, pass.rate(options_.dropout),
                          pass.chance(site(options_.site)));
}

}  // namespace weft::nn
