#pragma once

#include "models/model.h"
#include "nn/embedding/embeddings.h"
#include "nn/linear.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/stack.h"

namespace weft::models {

/// A decoder-only stack with one of its heads: GPT-2, Llama and similar families, which differ in
/// their options. A sequence classifier reads the last token, which attends to all others.
class CausalModel : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit CausalModel(const ModelOptions& options);

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
  void register_pooling();
  /// Logits (B, C) of the last tokens' states (B, D).
  at::Tensor logits_of(const at::Tensor& rows, const nn::ForwardContext& context);

  ModelOptions options_;
  nn::Embeddings embeddings_{nullptr};
  nn::Stack layers_{nullptr};
  std::shared_ptr<nn::SequencePooling> pooling_;  // null: the last token
  nn::Linear output_{nullptr};                    // "head": untied output matrix, or classifier
};

}  // namespace weft::models
