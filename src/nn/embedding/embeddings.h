#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "nn/dropout_sites.h"
#include "nn/embedding/token_embedding.h"
#include "nn/forward_context.h"
#include "nn/norm/norm.h"
#include "nn/position/position.h"

namespace weft::nn {

/// Table of embeddings, one row per id.
class EmbeddingTableImpl : public TokenEmbedding {
 public:
  EmbeddingTableImpl(int64_t rows, int64_t dim, const std::string& parameter = "weight");
  /// Of a parameter of another module, which is not registered here.
  explicit EmbeddingTableImpl(at::Tensor weight) : weight_(std::move(weight)) {}
  at::Tensor forward(const at::Tensor& ids) override;
  at::Tensor weight() const override { return weight_; }

 private:
  at::Tensor weight_;  // (rows, dim)
};
TORCH_MODULE(EmbeddingTable);

struct EmbeddingsOptions {
  int64_t vocabulary = 0;            // V
  int64_t dim = 0;                   // D
  int64_t segments = 0;              // T; 0: no segment embeddings
  bool defaults_token_types = true;  // without types, all tokens get segment 0, rather than none
  Positions positions = {};
  int64_t length = 0;  // maximum sequence length; 0: none
  NormOptions norm;
  double dropout = 0.1;
  bool has_norm = true;
  double scale = 1;         // of the word embeddings (arXiv:1706.03762, section 3.4)
  int64_t padding_id = -1;  // id whose row gets no gradient from the lookup
  DropoutSite site = DropoutSite::kEmbedding;  // id of its dropout
  TokenEmbeddingMaker make_word = {};          // of the word embeddings; empty: a table
  /// Word embeddings of another module: shared, not created, and not registered here again.
  std::shared_ptr<TokenEmbedding> word = nullptr;
};

/// dropout(norm(transforms(scale * word + position + segment))): the input of BERT's stack
/// (arXiv:1810.04805, figure 2).
class EmbeddingsImpl : public torch::nn::Module {
 public:
  explicit EmbeddingsImpl(const EmbeddingsOptions& options);

  /// ids (N); types (N), or undefined -> (N, D)
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& types, const ForwardContext& context);

  /// From now on the word embeddings are what is added to those of this table of another module,
  /// which get no gradient (arXiv:2111.09543, section 3.3).
  void add_words_to(std::shared_ptr<TokenEmbedding> base) { base_ = std::move(base); }
  bool has_base() const { return base_ != nullptr; }

  const std::shared_ptr<TokenEmbedding>& words() const { return word_; }
  at::Tensor word_weight() const { return word_->weight(); }  // (V, D), undefined if not a table

 private:
  /// Their rows, in the type of the word embeddings.
  std::vector<PositionRows> position_rows(const kernels::Layout& layout) const;
  at::Tensor sum(const at::Tensor& ids,
                 const std::vector<PositionRows>& positions,
                 const at::Tensor& segments) const;

  EmbeddingsOptions options_;
  std::shared_ptr<TokenEmbedding> word_;
  std::shared_ptr<TokenEmbedding> base_;  // null: none
  std::vector<std::shared_ptr<PositionEmbedding>> positions_;
  std::vector<std::shared_ptr<EmbeddingTransform>> transforms_;
  EmbeddingTable segment_{nullptr};  // null without segments
  std::shared_ptr<Norm> norm_;       // null without norm
};
TORCH_MODULE(Embeddings);

}  // namespace weft::nn
