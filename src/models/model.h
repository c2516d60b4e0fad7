#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/activation.h"
#include "models/config/options.h"
#include "nn/chosen_rows.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::models {

/// A stream of packed tokens, on the model's device.
struct TextInput {
  at::Tensor ids;           // (N) int64; of images what stands where (data/patches.h)
  at::Tensor types = {};    // (N) int64, or undefined: all zero
  at::Tensor patches = {};  // (P, C p p) of images, in the order of `ids`
};

/// What an encoder reads: ids (N), or patches of images (N, C p p), as the family takes.
struct SourceInput {
  at::Tensor ids;
  at::Tensor patches;
};

/// A model of any family: a backbone with one head. Objectives use the functions that its head has;
/// the others throw. Parameters are registered in the order of computation under names that end up
/// in the training state.
class Model : public nn::Module {
 public:
  virtual const ModelOptions& options() const = 0;

  /// States (M, D) of the encoder that `pass.memory` gives to the decoder. `pass`: of the source,
  /// with its layout and its counts of rows. Families without such an encoder throw.
  virtual at::Tensor encode(const SourceInput& source, const nn::Pass& pass);

  /// Last hidden states (N, D); of an encoder-decoder the decoder's, with pass.memory set. With
  /// pass.cache the input goes on where the cache's sequences stand.
  virtual at::Tensor hidden(const TextInput& input, const nn::Pass& pass) = 0;

  /// Of `hidden` the chosen rows, (M, D): most families compute no others in their last layer.
  virtual at::Tensor hidden_rows(const TextInput& input,
                                 const nn::Pass& pass,
                                 const nn::ChosenRows& rows) {
    return rows.of(hidden(input, pass));
  }

  /// Pooled first tokens (B, D): `tanh(W h + b)`, as the next-sentence and classification heads
  /// read it.
  virtual at::Tensor pooled(const at::Tensor& hidden, const nn::Pass& pass);

  /// Rows of hidden states, (M, D), through the head's transform -> (M, E), ready for
  /// `output_weight`.
  virtual at::Tensor token_features(const at::Tensor& rows);
  virtual at::Tensor output_weight();  // (V, E), tied to the word embedding or not
  virtual at::Tensor output_bias();    // (V), or undefined

  /// (B, 2): is the second text the next one (class 0)?
  virtual at::Tensor next_sentence_logits(const at::Tensor& pooled);
  /// (B, C), from the hidden states (N, D)
  virtual at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass);
  /// (B, C), from the beginning: a model that looks at one token of each sequence computes no other
  /// hidden states of its last layer.
  virtual at::Tensor classify(const TextInput& input, const nn::Pass& pass) {
    return class_logits(hidden(input, pass), pass);
  }
  /// Logits (B, C) of each classifier of which `classify` is the mean: its own, or one for the
  /// right class and one for the teacher's (arXiv:2012.12877, section 4).
  virtual std::vector<at::Tensor> classifiers(const TextInput& input, const nn::Pass& pass) {
    return {classify(input, pass)};
  }
  /// (N, C): classes of tokens, begin and end of a span, or whether it was replaced (C = 1)
  virtual at::Tensor token_logits(const at::Tensor& hidden, const nn::Pass& pass);
};

}  // namespace weft::models
