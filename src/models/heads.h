#pragma once

#include <memory>
#include <optional>

#include "kernels/activation.h"
#include "models/config/options.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/norm/norm.h"
#include "nn/pass.h"

namespace weft::models {

/// What guesses hidden tokens: a transform of the hidden state, then the word embedding as output
/// matrix (arXiv:1810.04805). XLM's has no transform.
class MaskedHead : public nn::Module {
 public:
  explicit MaskedHead(const ModelOptions& options);

  at::Tensor features(const at::Tensor& rows);  // (M, D) -> (M, E)
  /// The output matrix of an untied head; undefined in a tied one.
  at::Tensor weight() const;
  const at::Tensor& bias() const { return bias_; }  // (V)

 private:
  kernels::Activation activation_;
  std::shared_ptr<nn::Linear> dense_;
  std::shared_ptr<nn::Norm> norm_;
  std::shared_ptr<nn::Linear> decoder_;  // stays empty when tied
  at::Tensor bias_;
};

/// Classes of sequences or of tokens.
class ClassHead : public nn::Module {
 public:
  explicit ClassHead(const ModelOptions& options);

  /// Rows are sequences, (B, D), or tokens, (N, D); the chance is that of such rows. -> (rows, C)
  at::Tensor forward(const at::Tensor& rows,
                     double dropout,
                     const kernels::Chance& outer,
                     const kernels::Chance& inner);

 private:
  std::optional<kernels::Activation> activation_;
  bool drops_first_;
  std::shared_ptr<nn::Linear> dense_;  // some classifiers bring a layer of their own
  std::shared_ptr<nn::Norm> norm_;     // and ModernBERT's a norm after it
  std::shared_ptr<nn::Linear> output_;
};

}  // namespace weft::models
