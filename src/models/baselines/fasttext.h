#pragma once

#include "models/baselines/baseline.h"

namespace weft::models {

/// The classifier of fastText (arXiv:1607.01759): the mean of the embeddings of a text's features,
/// then a matrix or the output layer of the options.
class FastText : public Baseline {
 public:
  /// Throws UserError for an output layer that cannot predict these classes.
  explicit FastText(const ModelOptions& options);

  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) override;

  at::Tensor input_embeddings() const override { return words_; }

 private:
  at::Tensor words_;   // (V, D)
  at::Tensor output_;  // (C, D), undefined with an output layer of its own weights
};

}  // namespace weft::models
