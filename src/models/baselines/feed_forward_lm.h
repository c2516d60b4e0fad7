#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"
#include "nn/embedding/token_embedding.h"
#include "nn/linear.h"

namespace weft::models {

/// A language model with a fixed context (Bengio et al., JMLR 3, 2003): i = the embeddings of the
/// last c tokens,
///
///   features = tanh(H i + d)     scores = W features + b
///
/// With `direct` the features are [tanh(H i + d); i], so that W also has direct connections from
/// the embeddings. The log-bilinear model (Mnih and Hinton, ICML 2007) has features = C i without
/// activation and bias, and the embeddings as W.
///
/// Before the beginning of a text stands the bos token, or zeros if there is none; a bos token
/// begins a new text.
class FeedForwardLm : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit FeedForwardLm(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor selected_hidden_states(const TextInput& input,
                                    const nn::ForwardContext& context,
                                    const nn::RowSelection& rows) override;
  at::Tensor input_embeddings() const override { return words_->weight(); }
  at::Tensor token_features(const at::Tensor& rows) override { return rows; }
  at::Tensor output_weight() override;
  at::Tensor output_bias() override { return bias_; }

 private:
  /// The last c tokens at each token, -1 for none: (N, c).
  at::Tensor contexts(const TextInput& input, const nn::ForwardContext& context) const;
  at::Tensor features(const at::Tensor& contexts, const nn::ForwardContext& context);

  ModelOptions options_;
  std::shared_ptr<nn::TokenEmbedding> words_;
  nn::Linear hidden_{nullptr};  // c D -> H; null if H is 0
  at::Tensor output_;           // (V, E); undefined if tied, or with an output layer without one
  at::Tensor bias_;             // (V)
};

/// E: width of the features.
int64_t feed_forward_lm_features(const ModelOptions& options);

}  // namespace weft::models
