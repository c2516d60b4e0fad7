#pragma once

#include <cstdint>
#include <memory>

#include "nn/module.h"
#include "nn/norm/norm.h"
#include "nn/pass.h"
#include "nn/position/position.h"
#include "nn/sites.h"

namespace weft::nn {

/// One row of a table for each of some ids.
class Table : public Module {
 public:
  Table(int64_t rows, int64_t dim);
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;  // (rows, dim)
};

struct EmbeddingsOptions {
  int64_t vocabulary = 0;   // V
  int64_t dim = 0;          // D
  int64_t segments = 0;     // T; 0: no table of segments
  bool fills_types = true;  // untold, all tokens are in the first segment, not in none
  PositionOptions position;
  NormOptions norm;
  double dropout = 0.1;
  bool has_norm = true;
  double scale = 1;                  // of the word embeddings (arXiv:1706.03762, section 3.4)
  int64_t fixed_id = -1;             // a word whose row gets no gradient from here
  Site site = Site::kEmbedding;      // where its chance enters
  std::shared_ptr<Table> word = {};  // one that another part registered: shared, not made; it is
                                     // not registered here again
};

/// dropout(norm(scale * word + position + segment)): what BERT's stack begins with
/// (arXiv:1810.04805, figure 2).
class Embeddings : public Module {
 public:
  explicit Embeddings(const EmbeddingsOptions& options);

  /// ids (N); types (N), or undefined: untold -> (N, D)
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& types, const Pass& pass);

  const std::shared_ptr<Table>& words() const { return word_; }
  const at::Tensor& word_weight() const { return word_->weight(); }  // (V, D)

 private:
  at::Tensor sum(const at::Tensor& ids,
                 const PositionRows& position,
                 const at::Tensor& segments) const;

  EmbeddingsOptions options_;
  std::shared_ptr<Table> word_;
  std::shared_ptr<Position> position_;
  std::shared_ptr<Table> segment_;  // stays empty where there are no segments
  std::shared_ptr<Norm> norm_;      // stays empty where there is none
};

}  // namespace weft::nn
