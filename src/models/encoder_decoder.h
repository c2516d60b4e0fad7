#pragma once

#include "models/heads.h"
#include "models/model.h"
#include "nn/embedding/embeddings.h"
#include "nn/linear.h"
#include "nn/stack.h"

namespace weft::models {

/// An encoder, a decoder with cross-attention, and one of their heads (arXiv:1706.03762): T5, BART,
/// Marian and similar families, which differ in their options.
///
/// With a sequence head the decoder reads the encoder's text shifted by one position, and its last
/// state, which attends to all others, is classified (arXiv:1910.13461, section 3.1). Without a
/// head there is only the encoder.
class EncoderDecoder : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit EncoderDecoder(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor encode(const SourceInput& source, const nn::ForwardContext& context) override;
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor input_embeddings() const override { return embeddings_->word_weight(); }
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 private:
  void register_decoder();
  void register_head();
  /// Whether the output layer has the weights of the decoder's word embeddings.
  bool shares_output_embedding() const;
  at::Tensor decode(const at::Tensor& ids, const nn::ForwardContext& context);
  /// Ids of each sequence, shifted right after the decoder's start token.
  at::Tensor shifted(const at::Tensor& ids, const kernels::Layout& layout) const;
  at::Tensor dropped(const at::Tensor& states,
                     nn::DropoutSite site,
                     const nn::ForwardContext& context) const;

  ModelOptions options_;
  nn::Embeddings embeddings_{nullptr};
  nn::Stack layers_{nullptr};
  nn::Embeddings decoder_embeddings_{nullptr};  // null without a decoder
  nn::Stack decoder_layers_{nullptr};
  nn::EmbeddingTable output_{nullptr};               // "head": an untied output matrix
  ClassificationHead classification_head_{nullptr};  // "head": a classifier
  at::Tensor bias_;  // (1, V), fixed; undefined where the family has none
};

}  // namespace weft::models
