#pragma once

#include "models/heads.h"
#include "models/model.h"
#include "nn/embeddings.h"
#include "nn/linear.h"
#include "nn/stack.h"

namespace weft::models {

/// An encoder, a decoder that looks at its states, and one of their heads (arXiv:1706.03762): T5,
/// BART, Marian and their kin. Options tell the families apart.
///
/// With a head for sequences the decoder reads the text that the encoder read, one place later, and
/// the last of its states, which has seen all, is classified (arXiv:1910.13461, section 3.1).
/// Without a head there is the encoder alone.
class EncoderDecoder : public Model {
 public:
  /// Parameters are allocated, not set.
  explicit EncoderDecoder(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor encode(const SourceInput& source, const nn::Pass& pass) override;
  at::Tensor hidden(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) override;

 private:
  void register_decoder();
  void register_head();
  at::Tensor decode(const at::Tensor& ids, const nn::Pass& pass);
  /// Ids of each sequence behind what the decoder begins with, its last one left out.
  at::Tensor shifted(const at::Tensor& ids, const kernels::Layout& layout) const;
  at::Tensor dropped(const at::Tensor& states, nn::Site site, const nn::Pass& pass) const;

  ModelOptions options_;
  std::shared_ptr<nn::Embeddings> embeddings_;
  std::shared_ptr<nn::Stack> layers_;
  std::shared_ptr<nn::Embeddings> decoder_embeddings_;  // these stay empty where there is none
  std::shared_ptr<nn::Stack> decoder_layers_;
  std::shared_ptr<nn::Table> output_;      // "head" of an untied output matrix
  std::shared_ptr<ClassHead> class_head_;  // "head" of a classifier
  at::Tensor bias_;                        // (1, V), fixed; undefined where the family has none
};

}  // namespace weft::models
