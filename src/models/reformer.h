#pragma once

#include "models/heads.h"
#include "models/model.h"
#include "nn/embedding/embeddings.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/stack.h"

namespace weft::models {

/// Reformer (arXiv:2001.04451): reversible layers, of which the heads read both streams. It is an
/// encoder or, for generation, causal.
class ReformerModel : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit ReformerModel(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor selected_hidden_states(const TextInput& input,
                                    const nn::ForwardContext& context,
                                    const nn::RowSelection& rows) override;
  at::Tensor input_embeddings() const override { return embeddings_->word_weight(); }
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 private:
  void register_head();
  at::Tensor dropped(const at::Tensor& states, const nn::ForwardContext& context) const;
  void require_token_head() const;

  ModelOptions options_;
  nn::Embeddings embeddings_{nullptr};
  nn::Stack layers_{nullptr};
  std::shared_ptr<nn::SequencePooling> pooling_;     // null: the first token
  MlmHead mlm_head_{nullptr};                        // "head" that predicts tokens
  ClassificationHead classification_head_{nullptr};  // "head" of those that classify
};

/// Whether the attention of a layer is by hash (lsh), else local. Without a list they take turns.
bool is_hashed_layer(const ModelOptions& options, int64_t layer);

/// Whether a token does not attend to later ones.
bool is_causal_reformer(const ModelOptions& options);

}  // namespace weft::models
