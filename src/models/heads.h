#pragma once

#include <memory>
#include <optional>

#include <torch/nn/module.h>

#include "kernels/activation.h"
#include "models/config/options.h"
#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

/// Masked language model head: a transform of the hidden state, then the word embedding as output
/// matrix (arXiv:1810.04805). XLM's has no transform.
class MlmHeadImpl : public torch::nn::Module {
 public:
  explicit MlmHeadImpl(const ModelOptions& options);

  at::Tensor transform(const at::Tensor& rows);  // (M, D) -> (M, E)
  /// Output matrix of an untied head; undefined in a tied one.
  at::Tensor weight() const;
  const at::Tensor& bias() const { return bias_; }  // (V)

 private:
  kernels::Activation activation_;
  nn::Linear dense_{nullptr};
  std::shared_ptr<nn::Norm> norm_;
  nn::Linear decoder_{nullptr};  // null when tied
  at::Tensor bias_;
};
TORCH_MODULE(MlmHead);

/// Classification head for sequences or tokens.
class ClassificationHeadImpl : public torch::nn::Module {
 public:
  explicit ClassificationHeadImpl(const ModelOptions& options);

  /// Rows are sequences, (B, D), or tokens, (N, D); the random keys must match. Returns (rows, C).
  at::Tensor forward(const at::Tensor& rows,
                     double dropout,
                     const kernels::RngKey& outer,
                     const kernels::RngKey& inner);

 private:
  std::optional<kernels::Activation> activation_;
  bool has_input_dropout_;
  nn::Linear dense_{nullptr};       // hidden layer of some classifiers
  std::shared_ptr<nn::Norm> norm_;  // norm after it, of prediction heads only
  nn::Linear output_{nullptr};
};
TORCH_MODULE(ClassificationHead);

/// Classifies sequence representations with a head, and before it the pooler where the family has
/// one: (B, D) -> (B, C). `pooler` may be null.
at::Tensor classify_rows(const ModelOptions& options,
                         nn::Pooler pooler,
                         ClassificationHead head,
                         const at::Tensor& rows,
                         const nn::ForwardContext& context);

}  // namespace weft::models
