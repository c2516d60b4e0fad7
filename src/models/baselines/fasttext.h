#pragma once

#include <memory>

#include "formats/fasttext_file.h"
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

/// The model of a fastText file, with its class names. A hierarchical softmax gets fastText's own
/// tree; one-vs-all and negative sampling become independent classes (`multi_label`).
std::shared_ptr<FastText> fasttext_model(const formats::FastTextFile& file);

}  // namespace weft::models
