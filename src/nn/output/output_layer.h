#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "nn/component.h"
#include "nn/embedding/token_embedding.h"
#include "nn/forward_context.h"
#include "nn/frequency_clusters.h"

namespace weft::nn {

/// What a model gives to every output layer.
struct OutputOptions {
  int64_t width = 0;       // E, of the features
  int64_t vocabulary = 0;  // V
  /// The word embeddings of the model, where the layer shares its weights with them (a type with
  /// OutputDefinition::tie_error); they are a module of the model, not of the layer.
  std::shared_ptr<const TokenEmbedding> tied = nullptr;
};

/// The output matrix of a model, for layers that use it.
struct OutputMatrix {
  at::Tensor weight;  // (V, E)
  at::Tensor bias;    // (V), or undefined
};

/// What tokens are predicted from, row by row.
struct TokenStates {
  TokenStates() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): most output layers need nothing but the states.
  TokenStates(at::Tensor own_states, at::Tensor own_histories = {})
      : states(std::move(own_states)), histories(std::move(own_histories)) {}

  TokenStates slice(int64_t begin, int64_t end) const {
    return {states.slice(0, begin, end),
            histories.defined() ? histories.slice(0, begin, end) : histories};
  }

  at::Tensor states;     // (M, D) hidden states, or (M, E) features
  at::Tensor histories;  // (M, ...), of OutputLayer::histories; undefined: not needed
};

/// The layer between features and the probabilities of tokens, in place of a product with one
/// matrix and a softmax over the whole vocabulary.
class OutputLayer : public torch::nn::Module {
 public:
  /// What it must know of the tokens up to each one, besides the features: ids (N) -> (N, ...), or
  /// undefined. With context.decoding_state the ids continue the sequences of that state.
  virtual at::Tensor histories(const at::Tensor& /*ids*/, const ForwardContext& /*context*/) {
    return {};
  }
  /// Scores whose softmax gives the probabilities: features (M, E) -> (M, V).
  virtual at::Tensor logits(const TokenStates& rows, const OutputMatrix& matrix) = 0;
  /// Sum of the losses of targets (M): an fp32 scalar, -ln p where nothing else is documented.
  virtual at::Tensor loss(const TokenStates& rows,
                          const at::Tensor& targets,
                          const OutputMatrix& matrix,
                          const ForwardContext& context) = 0;

  /// Whether it is set up from the training data: fit() comes before training.
  virtual bool needs_statistics() const { return false; }
  /// Sets the buffers. Throws UserError, FileError.
  virtual void fit(const TokenStatistics& /*statistics*/) {}
  /// Called when the buffers have new values. Throws UserError for values that cannot be.
  virtual void finish_loading() {}

  // Buffers keep their dtype.
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Dtype dtype, bool non_blocking) override;
  using torch::nn::Module::to;
};

struct OutputDefinition {
  using Maker = ComponentDefinition<OutputLayer, OutputOptions>::Maker;
  using Choice = ComponentChoice<OutputLayer, OutputOptions>;

  std::string_view name;
  /// Reads the keys of this type; must also work in documentation mode. Throws config::Error.
  Maker (*read)(config::Section& section) = nullptr;
  /// Whether it uses the model's output matrix, which may be the word embeddings. Otherwise the
  /// model has none.
  bool uses_output_matrix = false;
  /// Whether it has OutputLayer::histories, so that the model must read from left to right.
  bool needs_histories = false;
  /// Of a type that can share its weights with word embeddings in clusters: why its keys, given as
  /// a JSON object, and those of the embeddings do not fit; empty: they do. Without embeddings:
  /// why the keys are not possible in a layer that shares nothing. nullptr: it cannot.
  std::string (*tie_error)(const std::string& keys, const std::string* embedding_keys) = nullptr;
};
using OutputMaker = OutputDefinition::Maker;
using OutputChoice = OutputDefinition::Choice;

/// The values of `model.output.type` beside `full`, the usual matrix.
const Registry<OutputDefinition>& output_types();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_output(const OutputDefinition& definition);

/// Binary tree of logistic regressions (Morin and Bengio, AISTATS 2005).
OutputMaker read_hierarchical_output(config::Section& section);
/// Softmax over classes, then over the words of a class (Goodman 2001, arXiv:cs/0108006).
OutputMaker read_class_output(config::Section& section);
/// Adaptive softmax (arXiv:1609.04309).
OutputMaker read_adaptive_output(config::Section& section);
/// OutputDefinition::tie_error of the adaptive softmax.
std::string adaptive_tie_error(const std::string& keys, const std::string* embedding_keys);
/// Noise contrastive estimation (arXiv:1206.6426) or importance sampling (arXiv:1412.2007).
OutputMaker read_sampled_output(config::Section& section);

}  // namespace weft::nn
