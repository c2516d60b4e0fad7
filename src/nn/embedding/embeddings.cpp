#include "nn/embedding/embeddings.h"

#include <ATen/Functions.h>

#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

EmbeddingTableImpl::EmbeddingTableImpl(int64_t rows, int64_t dim, const std::string& parameter) {
  weight_ = register_parameter(parameter, at::empty({rows, dim}));
}

at::Tensor EmbeddingTableImpl::forward(const at::Tensor& ids) {
  return kernels::embedding_sum(weight_, ids, {}, {}, {}, {});
}

EmbeddingsImpl::EmbeddingsImpl(const EmbeddingsOptions& options)
    : options_(options), word_(options.word) {
  if (word_ == nullptr) {
    word_ = options.make_word
                ? options.make_word({.vocabulary = options.vocabulary, .dim = options.dim})
                : std::make_shared<EmbeddingTableImpl>(options.vocabulary, options.dim);
    register_module("word", word_);
  }
  for (const auto& position : options.positions) {
    if (position->embedding != nullptr) {
      positions_.push_back(
          register_module(numbered("position", positions_.size()), position->embedding));
    }
  }
  for (const auto& position : options.positions) {
    if (position->transform != nullptr) {
      transforms_.push_back(
          register_module(numbered("position_transform", transforms_.size()), position->transform));
    }
  }
  if (options.segments > 0) {
    segment_ = register_module("segment", EmbeddingTable(options.segments, options.dim));
  }
  if (options.has_norm) {
    norm_ = register_module("norm", make_norm(options.norm));
  }
}

at::Tensor EmbeddingsImpl::sum(const at::Tensor& ids,
                               const std::vector<PositionRows>& positions,
                               const at::Tensor& segments) const {
  const bool has_types = segment_ && segments.defined();
  const auto segment = has_types ? segment_->weight() : at::Tensor();
  const auto types = has_types ? segments : at::Tensor();
  const auto words = word_weight();
  if (words.defined() && base_ == nullptr && options_.scale == 1 && options_.padding_id < 0 &&
      positions.size() <= 1) {
    const auto position = positions.empty() ? PositionRows() : positions.front();
    return kernels::embedding_sum(words, ids, position.table, position.rows, segment, types);
  }
  auto sum = word_->forward(ids);
  if (base_ != nullptr) {
    sum = sum + kernels::embedding_sum(base_->weight().detach(), ids, {}, {}, {}, {});
  }
  if (options_.padding_id >= 0) {
    sum = at::where(ids.eq(options_.padding_id).unsqueeze(1), sum.detach(), sum);
  }
  sum = sum * options_.scale;
  for (const auto& position : positions) {
    sum = sum + kernels::embedding_sum(position.table, position.rows, {}, {}, {}, {});
  }
  return segment.defined() ? sum + kernels::embedding_sum(segment, types, {}, {}, {}, {}) : sum;
}

std::vector<PositionRows> EmbeddingsImpl::position_rows(const kernels::Layout& layout) const {
  const auto words = word_weight();
  const auto type = (words.defined() ? words : word_->parameters().front()).scalar_type();
  std::vector<PositionRows> result;
  for (const auto& position : positions_) {
    result.push_back(position->rows(layout));
    auto& table = result.back().table;
    if (table.scalar_type() != type) {
      table = table.to(type);  // table is not learned
    }
  }
  return result;
}

at::Tensor EmbeddingsImpl::forward(const at::Tensor& ids,
                                   const at::Tensor& types,
                                   const ForwardContext& context) {
  TORCH_CHECK(ids.dim() == 1 && ids.size(0) == context.layout.tokens(), "Embeddings expects (",
              context.layout.tokens(), ") ids, got ", ids.sizes());
  TORCH_CHECK(options_.length == 0 || context.layout.position_limit <= options_.length,
              "a sequence of ", context.layout.position_limit,
              " tokens is longer than the model's maximum of ", options_.length, " tokens");
  const bool uses_default_types = segment_ && options_.defaults_token_types && !types.defined();
  const auto segments = uses_default_types ? at::zeros_like(ids) : types;
  auto sum = this->sum(ids, position_rows(context.layout), segments);  // (N, D)
  for (const auto& transform : transforms_) {
    sum = transform->forward(sum, context.layout);
  }
  return kernels::dropout(norm_ ? norm_->forward(sum) : sum, context.rate(options_.dropout),
                          context.rng_key(site_id(options_.site)));
}

}  // namespace weft::nn
