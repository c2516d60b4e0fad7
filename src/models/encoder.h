#pragma once

#include "models/heads.h"
#include "models/model.h"
#include "nn/embeddings.h"
#include "nn/pooler.h"
#include "nn/stack.h"

namespace weft::models {

/// The encoder of BERT and its kin with one of their heads. Options tell the families apart.
class Encoder : public Model {
 public:
  /// Parameters are allocated, not set. `embeddings`: those of another encoder, which it shares.
  explicit Encoder(const ModelOptions& options, std::shared_ptr<nn::Embeddings> embeddings = {});

  /// Carries an encoder that shares its embeddings, as the part `generator` (models/generator.h).
  Encoder& add_generator(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor hidden_rows(const TextInput& input,
                         const nn::Pass& pass,
                         const nn::ChosenRows& rows) override;
  at::Tensor pooled(const at::Tensor& hidden, const nn::Pass& pass) override;
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor next_sentence_logits(const at::Tensor& pooled) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) override;
  at::Tensor classify(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor token_logits(const at::Tensor& hidden, const nn::Pass& pass) override;

 private:
  void register_head();
  /// What the stack begins with: (N, D).
  at::Tensor embedded(const TextInput& input, const nn::Pass& pass);
  /// From what represents the sequences, (B, D), to their classes, (B, C).
  at::Tensor logits_of(const at::Tensor& rows, const nn::Pass& pass);

  ModelOptions options_;
  std::shared_ptr<nn::Embeddings> embeddings_;
  std::shared_ptr<nn::Linear> projection_;  // of embeddings that are narrower than the stack
  std::shared_ptr<nn::Stack> layers_;
  std::shared_ptr<nn::Pooler> pooler_;       // only where the head reads it
  std::shared_ptr<MaskedHead> masked_head_;  // "head" of the two that guess tokens
  std::shared_ptr<ClassHead> class_head_;    // "head" of those that classify
  std::shared_ptr<nn::Linear> next_sentence_;
};

}  // namespace weft::models
