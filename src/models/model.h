#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "kernels/activation.h"
#include "models/config/options.h"
#include "nn/embedding/token_embedding.h"
#include "nn/forward_context.h"
#include "nn/output/output_layer.h"
#include "nn/row_selection.h"

namespace weft::models {

/// For each row: -log softmax(logits)[target], the argmax of the logits, and its probability.
struct TokenMetrics {
  std::vector<double> losses;
  std::vector<int64_t> predictions;
  std::vector<double> scores;

  void append(const TokenMetrics& more);
};

/// logits (M, C), targets (M).
TokenMetrics token_metrics(const at::Tensor& logits, const std::vector<int64_t>& targets);

/// A packed token stream on the model's device.
struct TextInput {
  at::Tensor ids;           // (N) int64; for images see formats/image.h
  at::Tensor types = {};    // (N) int64, or undefined: all zero
  at::Tensor patches = {};  // (P, C p p) of images, in the order of `ids`
};

/// Input of an encoder: ids (N), or image patches (N, C p p), depending on the family.
struct SourceInput {
  at::Tensor ids;
  at::Tensor patches;
};

/// Tokens that the model reads, for a causal model with the last target; and the class of the whole
/// sequence, or a negative number.
struct TrainingSequence {
  std::span<const int64_t> ids;
  std::span<const int64_t> targets = {};  // tokens that it predicts
  int64_t label = -1;
  std::span<const int64_t> source = {};  // that an encoder reads; empty: it reads `ids`
};

/// Sequences on which a model is trained.
struct TrainingSequences {
  /// Calls the visitor for each, in order.
  std::function<void(const std::function<void(const TrainingSequence&)>&)> visit;
  std::string directory;                                  // of temporary files
  std::function<std::string(int64_t)> token = {};         // the text of a token
  std::function<std::string(int64_t)> source_token = {};  // of a source; empty: as `token`
  /// The texts of all tokens of another model, given its directory. Throws UserError.
  std::function<std::vector<std::string>(const std::string&)> tokens_of = {};
};

/// The tokens of word embeddings: those of which of the texts are looked up in them.
struct EmbeddedTokens {
  int64_t vocabulary = 0;    // V
  bool has_source = false;   // of an encoder-decoder
  bool has_input = true;     // that the model reads
  bool has_targets = false;  // that it predicts, with the same weights
};

/// Logits of one classifier, and the weight of its loss in training.
struct WeightedLogits {
  at::Tensor logits;  // (B, C)
  double weight = 1;
};

/// A model of any family: a backbone with one head. Objectives call the functions that its head
/// supports; the others throw. Parameters are registered in order of computation; their names
/// appear in the training state.
class Model : public torch::nn::Module {
 public:
  virtual const ModelOptions& options() const = 0;

  /// Sets what is computed in one pass over the training data before training: document
  /// frequencies, n-gram counts. Throws UserError, FileError.
  virtual void fit(const TrainingSequences& data);
  /// Called when stored buffers were read. Throws UserError if they contradict each other.
  virtual void finish_loading();

  /// The parameter that is added to this one where it is stored and read; empty: none.
  virtual std::string base_of(const std::string& /*parameter*/) const { return ""; }

  /// The device of the parameters.
  at::Device device() const;

  /// nn::EncoderStates::states that the decoder reads from `context.encoder_states`. `context`:
  /// that of the source, with its layout and row counts. Families without such an encoder throw.
  virtual at::Tensor encode(const SourceInput& source, const nn::ForwardContext& context);

  /// Last hidden states (N, D); for an encoder-decoder the decoder's, with context.encoder_states
  /// set. With context.decoding_state the input continues the sequences of that state.
  virtual at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) = 0;

  /// The sequences of the rows of `hidden`, which are shorter than those of the tokens in models
  /// that pool them.
  virtual kernels::Layout hidden_layout(const kernels::Layout& tokens) const { return tokens; }

  /// The same as `hidden`: the name that torch::nn::Sequential calls.
  at::Tensor forward(const TextInput& input, const nn::ForwardContext& context) {
    return hidden(input, context);
  }

  /// Selected rows of `hidden`, (M, D): most families skip the others in their last layer.
  virtual at::Tensor selected_hidden_states(const TextInput& input,
                                            const nn::ForwardContext& context,
                                            const nn::RowSelection& rows) {
    return rows.select(hidden(input, context));
  }

  /// Pooled first tokens (B, D): `tanh(W h + b)`, the input of the next-sentence and classification
  /// heads.
  virtual at::Tensor pooled(const at::Tensor& hidden, const nn::ForwardContext& context);

  /// Word embeddings (V, E) of the input; undefined if there are none.
  virtual at::Tensor input_embeddings() const { return {}; }

  /// Weight (V, C) of each token for each class, of a linear classifier; undefined for others.
  virtual at::Tensor token_class_weights() const { return {}; }

  /// Applies the head's transform to rows of hidden states: (M, D) -> (M, E), ready for
  /// `output_weight`.
  virtual at::Tensor token_features(const at::Tensor& rows);
  /// (V, E), tied to the word embedding or not; undefined if only lm_logits gives the logits.
  virtual at::Tensor output_weight();
  virtual at::Tensor output_bias();  // (V), or undefined

  /// What the output layer must know of the tokens up to each one, besides their hidden states:
  /// (N, ...), or undefined; see nn::OutputLayer::histories.
  at::Tensor histories(const TextInput& input, const nn::ForwardContext& context);
  /// Selected rows of them.
  at::Tensor selected_histories(const TextInput& input,
                                const nn::ForwardContext& context,
                                const nn::RowSelection& rows);

  /// Logits (M, V) of masked or next tokens, from hidden states (M, D) and the histories of their
  /// tokens.
  virtual at::Tensor lm_logits(const nn::TokenStates& rows);
  /// Sum of their cross-entropies with targets (M): an fp32 scalar. `smoothing`: the fraction of
  /// each target's probability spread over the whole vocabulary, as in torch's cross_entropy and
  /// transformers' LabelSmoother (fairseq spreads it over the other tokens).
  virtual at::Tensor lm_loss(const nn::TokenStates& rows,
                             const at::Tensor& targets,
                             const nn::ForwardContext& context,
                             double smoothing = 0);
  /// Metrics of these predictions, in chunks to bound the memory.
  virtual TokenMetrics lm_metrics(const nn::TokenStates& rows, const std::vector<int64_t>& targets);

  /// (B, 2): does the second text follow the first (class 0)?
  virtual at::Tensor next_sentence_logits(const at::Tensor& pooled);
  /// (B, C), from the hidden states (N, D)
  virtual at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context);
  /// (B, C), with the whole forward pass: a model that reads one token per sequence computes no
  /// other hidden states in its last layer.
  virtual at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) {
    return class_logits(hidden(input, context), context);
  }
  /// Logits (B, C) of each classifier that `classify` averages: a single one, or one for the label
  /// and one for the teacher's prediction (arXiv:2012.12877, section 4).
  virtual std::vector<at::Tensor> classifier_logits(const TextInput& input,
                                                    const nn::ForwardContext& context) {
    return {classify(input, context)};
  }
  /// Logits of all classifiers that a training loss is computed from; the weights add up to 1.
  /// Several with early exits, where `classify` uses the first one that is sure.
  virtual std::vector<WeightedLogits> training_logits(const TextInput& input,
                                                      const nn::ForwardContext& context) {
    return {{classify(input, context)}};
  }
  /// (N, C): classes of tokens, start and end of a span, or whether it was replaced (C = 1)
  virtual at::Tensor token_logits(const at::Tensor& hidden, const nn::ForwardContext& context);

 protected:
  /// Names word embeddings of this model, which are set up from its training data.
  void use_embedding(std::shared_ptr<nn::TokenEmbedding> embedding, const EmbeddedTokens& tokens);
  /// Registers the output layer of this type, if that is not the plain matrix.
  void register_output_layer(const LayerTypes& types, const nn::OutputOptions& sizes);
  /// Logits (M, V) of tokens or classes from features (M, E): of that layer, else of the matrix.
  at::Tensor output_logits(const nn::TokenStates& features, const nn::OutputMatrix& matrix);

 private:
  struct UsedEmbedding {
    std::shared_ptr<nn::TokenEmbedding> embedding;
    EmbeddedTokens tokens;
  };

  nn::OutputMatrix output_matrix();

  std::shared_ptr<nn::OutputLayer> output_layer_;  // null: a softmax over the output matrix
  int64_t outputs_ = 0;                            // of that layer: tokens or classes
  std::vector<UsedEmbedding> embeddings_used_;
};

/// The submodule with a dotted path (`layers.0.attention`), or nullptr.
torch::nn::Module* find_module(const torch::nn::Module& root, const std::string& path);

/// Model::hidden and Model::histories of the same rows.
nn::TokenStates token_states(Model& model,
                             const TextInput& input,
                             const nn::ForwardContext& context);

/// Model::selected_hidden_states and Model::selected_histories.
nn::TokenStates selected_token_states(Model& model,
                                      const TextInput& input,
                                      const nn::ForwardContext& context,
                                      const nn::RowSelection& rows);

}  // namespace weft::models
