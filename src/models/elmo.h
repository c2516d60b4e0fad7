#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>

#include "models/model.h"
#include "nn/embedding/token_embedding.h"
#include "nn/linear.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/recurrent/cell.h"

namespace weft::models {

/// One recurrent cell for each direction.
class BidirectionalCellsImpl : public torch::nn::Module {
 public:
  BidirectionalCellsImpl(const nn::CellOptions& options, const nn::CellMaker& make)
      : forward(register_module("forward", make(options))),
        backward(register_module("backward", make(options))) {}

  std::shared_ptr<nn::RecurrentCell> forward;
  std::shared_ptr<nn::RecurrentCell> backward;
};
TORCH_MODULE(BidirectionalCells);

/// ELMo (arXiv:1802.05365): two recurrent language models, one from left to right and one from
/// right to left, which share the token layer and the softmax. Layers from the second on have a
/// residual connection, if so configured. Other heads read a mix of all layers,
///
///   gamma sum_k softmax(s)_k [forward_k; backward_k],    k = 0 (the token vector twice) .. layers
///
/// A model without head has equal weights.
class Elmo : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit Elmo(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  void fit(const TrainingSequences& data) override;
  /// (N, D): with a language modelling head the last layers [forward; backward], else the mix.
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor input_embeddings() const override { return embeddings_->weight(); }
  /// Of one direction, (M, D / 2).
  at::Tensor token_features(const at::Tensor& rows) override;
  at::Tensor output_weight() override;
  at::Tensor output_bias() override { return bias_; }
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor token_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;

 private:
  void register_head();
  /// The states of all layers in one direction, (N, D / 2) each; the first are the inputs.
  std::vector<at::Tensor> states(const at::Tensor& x,
                                 bool is_reverse,
                                 const nn::ForwardContext& context);
  at::Tensor mixed(const std::vector<at::Tensor>& layers) const;
  at::Tensor logits_of(const at::Tensor& rows,
                       const kernels::RngKey& key,
                       const nn::ForwardContext& context);

  ModelOptions options_;
  std::shared_ptr<nn::TokenEmbedding> embeddings_;
  torch::nn::ModuleList layers_;  // of BidirectionalCells
  at::Tensor mix_;                // s (layers + 1); undefined without a head that reads the mix
  at::Tensor scale_;              // gamma (1)
  std::shared_ptr<nn::SequencePooling> pooling_;
  nn::Linear head_{nullptr};
  at::Tensor output_;  // (V, D / 2); undefined if tied, or with an output layer without one
  at::Tensor bias_;    // (V)
};

/// D / 2: width of one direction.
int64_t elmo_direction_width(const ModelOptions& options);
/// Width of its cells' states before a projection.
int64_t elmo_cell_width(const ModelOptions& options);

}  // namespace weft::models
