#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/activation.h"
#include "models/options.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::models {

/// A stream of packed tokens, on the model's device.
struct TextInput {
  at::Tensor ids;    // (N) int64
  at::Tensor types;  // (N) int64, or undefined: all zero
};

/// A model of any family: a backbone with one head. Objectives use the functions that its head has;
/// the others throw. Parameters are registered in the order of computation under names that end up
/// in the training state.
class Model : public nn::Module {
 public:
  virtual const ModelOptions& options() const = 0;

  /// Last hidden states (N, D).
  virtual at::Tensor hidden(const TextInput& input, const nn::Pass& pass) = 0;

  /// Pooled first tokens (B, D): `tanh(W h + b)`, as the next-sentence and classification heads
  /// read it.
  virtual at::Tensor pooled(const at::Tensor& hidden, const nn::Pass& pass) = 0;

  /// Rows of hidden states, (M, D), through the head's transform -> (M, E), ready for
  /// `output_weight`.
  virtual at::Tensor token_features(const at::Tensor& rows) = 0;
  virtual at::Tensor output_weight() = 0;  // (V, E), tied to the word embedding or not
  virtual at::Tensor output_bias() = 0;    // (V)

  /// (B, 2): is the second text the next one (class 0)?
  virtual at::Tensor next_sentence_logits(const at::Tensor& pooled) = 0;
  /// (B, C), from the hidden states (N, D)
  virtual at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) = 0;
  /// (B, C), from the beginning: a model that looks at first tokens only computes no other hidden
  /// states of its last layer.
  virtual at::Tensor classify(const TextInput& input, const nn::Pass& pass) {
    return class_logits(hidden(input, pass), pass);
  }
  /// (N, C): classes of tokens, begin and end of a span, or whether it was replaced (C = 1)
  virtual at::Tensor token_logits(const at::Tensor& hidden, const nn::Pass& pass) = 0;
};

}  // namespace weft::models
