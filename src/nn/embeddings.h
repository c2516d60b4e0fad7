#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "nn/dropout_sites.h"
#include "nn/forward_context.h"
#include "nn/norm/norm.h"
#include "nn/position/position.h"

namespace weft::nn {

/// Table of embeddings, one row per id.
class EmbeddingTable : public torch::nn::Module {
 public:
  EmbeddingTable(int64_t rows, int64_t dim);
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;  // (rows, dim)
};

struct EmbeddingsOptions {
  int64_t vocabulary = 0;            // V
  int64_t dim = 0;                   // D
  int64_t segments = 0;              // T; 0: no segment embeddings
  bool defaults_token_types = true;  // without types, all tokens get segment 0, rather than none
  PositionOptions position;
  NormOptions norm;
  double dropout = 0.1;
  bool has_norm = true;
  double scale = 1;         // of the word embeddings (arXiv:1706.03762, section 3.4)
  int64_t padding_id = -1;  // id whose row gets no gradient from the lookup
  DropoutSite site = DropoutSite::kEmbedding;  // id of its dropout
  std::shared_ptr<EmbeddingTable> word = {};  // table of another module: shared, not created; it is
                                              // not registered here again
};

/// dropout(norm(scale * word + position + segment)): the input of BERT's stack (arXiv:1810.04805,
/// figure 2).
class Embeddings : public torch::nn::Module {
 public:
  explicit Embeddings(const EmbeddingsOptions& options);

  /// ids (N); types (N), or undefined -> (N, D)
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& types, const ForwardContext& context);

  const std::shared_ptr<EmbeddingTable>& words() const { return word_; }
  const at::Tensor& word_weight() const { return word_->weight(); }  // (V, D)

 private:
  at::Tensor sum(const at::Tensor& ids,
                 const PositionRows& position,
                 const at::Tensor& segments) const;

  EmbeddingsOptions options_;
  std::shared_ptr<EmbeddingTable> word_;
  std::shared_ptr<Position> position_;
  std::shared_ptr<EmbeddingTable> segment_;  // null without segments
  std::shared_ptr<Norm> norm_;               // null without norm
};

}  // namespace weft::nn
