#pragma once

#include <string>

#include "models/config/options.h"
#include "models/early_exit.h"
#include "models/heads.h"
#include "models/model.h"
#include "nn/document/document_encoder.h"
#include "nn/embedding/embeddings.h"
#include "nn/pooling/pooling.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/stack.h"

namespace weft::models {

/// The layers of an encoder's stack.
nn::StackOptions encoder_stack_of(const ModelOptions& options, int64_t layers);

/// A BERT-like encoder with one of its heads. The families differ in their options.
class Encoder : public Model {
 public:
  /// Parameters are allocated but not initialised. `embeddings`: shared with another encoder.
  explicit Encoder(const ModelOptions& options, nn::Embeddings embeddings = nullptr);

  /// Adds an encoder as submodule `generator` (models/generator.h), with the same embeddings or
  /// those that the word embeddings are then added to.
  Encoder& add_generator(const ModelOptions& options, EmbeddingSharing sharing);

  const ModelOptions& options() const override { return options_; }
  std::string base_of(const std::string& parameter) const override;
  /// Of a document, with a head for tokens, the last token of each sentence has the state of the
  /// sentence: there its class, or all of its tokens, are predicted. With context.encoder_states,
  /// such states of one row for each sequence, the input is sentences whose next tokens are
  /// predicted by a decoder; only with a head for tokens.
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  kernels::Layout hidden_layout(const kernels::Layout& tokens) const override;
  /// `rows`: of those that hidden() returns.
  at::Tensor selected_hidden_states(const TextInput& input,
                                    const nn::ForwardContext& context,
                                    const nn::RowSelection& rows) override;
  at::Tensor pooled(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor input_embeddings() const override { return embeddings_->word_weight(); }
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor next_sentence_logits(const at::Tensor& pooled) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) override;
  std::vector<WeightedLogits> training_logits(const TextInput& input,
                                              const nn::ForwardContext& context) override;
  at::Tensor token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 protected:
  Encoder(const ModelOptions& options, nn::Embeddings embeddings, nn::StackOptions stack);

  /// Input of the stack, (N, D).
  at::Tensor embedded(const TextInput& input, const nn::ForwardContext& context);
  nn::StackImpl& layers() { return *layers_; }
  /// Whether its classifier reads more than the first token.
  bool pools_sequences() const { return pooling_ != nullptr; }
  /// Classifies sequence representations: (B, D) -> (B, C).
  at::Tensor logits_of(const at::Tensor& rows, const nn::ForwardContext& context);

 private:
  virtual std::shared_ptr<Encoder> make_generator(const ModelOptions& options,
                                                  const nn::Embeddings& embeddings) const;
  void register_document();
  void register_head();
  ExitPath exit_path();

  ModelOptions options_;
  nn::Embeddings embeddings_{nullptr};
  nn::Linear projection_{nullptr};  // for embeddings that are narrower than the stack
  nn::Stack layers_{nullptr};
  std::shared_ptr<nn::DocumentEncoder> document_;    // null: texts are not divided
  nn::Stack sentence_decoder_{nullptr};              // of documents whose tokens are predicted
  std::shared_ptr<nn::SequencePooling> pooling_;     // null: as in the family
  nn::Pooler pooler_{nullptr};                       // only where the head reads it
  MlmHead mlm_head_{nullptr};                        // "head" that predicts tokens
  ClassificationHead classification_head_{nullptr};  // "head" of those that classify
  EarlyExits early_exits_{nullptr};
  nn::Linear next_sentence_{nullptr};
};

}  // namespace weft::models
