#pragma once

#include "models/model.h"
#include "nn/embeddings.h"
#include "nn/linear.h"
#include "nn/stack.h"

namespace weft::models {

/// A stack that reads from left to right, with one of its heads: GPT-2, Llama and their kin.
/// Options tell the families apart. A classifier of sequences looks at the last token, which has
/// seen all.
class CausalModel : public Model {
 public:
  /// Parameters are allocated, not set.
  explicit CausalModel(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor hidden_rows(const TextInput& input,
                         const nn::Pass& pass,
                         const nn::ChosenRows& rows) override;
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) override;
  at::Tensor classify(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor token_logits(const at::Tensor& hidden, const nn::Pass& pass) override;

 private:
  /// Logits (B, C) of the last tokens' states (B, D).
  at::Tensor logits_of(const at::Tensor& rows, const nn::Pass& pass);

  ModelOptions options_;
  std::shared_ptr<nn::Embeddings> embeddings_;
  std::shared_ptr<nn::Stack> layers_;
  std::shared_ptr<nn::Linear> output_;  // "head": matrix of an untied causal head, or classes
};

/// The norms of a stack, also of those of encoder-decoders.
nn::NormOptions norm_of(const ModelOptions& options);

/// Rotary positions of the options as the kernels want them.
kernels::RotaryOptions rotary_of(const ModelOptions& options);

}  // namespace weft::models
