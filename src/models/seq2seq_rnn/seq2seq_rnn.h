#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/seq2seq_rnn/rnn_decoder_state.h"
#include "nn/linear.h"
#include "nn/recurrent/cell.h"
#include "nn/recurrent/encoder_attention.h"

namespace weft::models {

/// Recurrent encoder and decoder, with or without attention. The encoder's layers read the source,
/// in both directions if bidirectional; its states are h_1 ... h_S. The decoder begins with
/// tanh(W [h_S; h_1]), of the last forward and the last backward state.
///
/// Without attention (arXiv:1406.1078) or with attention before the step (arXiv:1409.0473), with y
/// the embedding of the token before and c the context, which is [h_S; h_1] without attention:
///
///   c_t = attend(s_{t-1})    s_t = cell([y; c_t], s_{t-1})    features = readout [s_t; y; c_t]
///
/// With attention after the step (arXiv:1508.04025, section 3), where input feeding adds the
/// features of the step before to the cell's input:
///
///   s_t = cell([y; features_{t-1}], s_{t-1})    c_t = attend(s_t)    features = tanh W [c_t; s_t]
///
/// With several layers s_t is the output of the last one, but the query before the step and what a
/// layer keeps is the state of its cell. With residual connections (arXiv:1609.08144, section 3.1)
/// the output of each layer but the first is the state plus the layer's input, which is the output
/// of the layer below, before dropout.
class Seq2SeqRnn : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit Seq2SeqRnn(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  /// (M, C): the states of the last layer.
  at::Tensor encode(const SourceInput& source, const nn::ForwardContext& context) override;
  /// Features (N, D). Records the attention weights as those of layer 0: (1, L, S) each.
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor input_embeddings() const override { return source_words_->weight(); }
  at::Tensor token_features(const at::Tensor& rows) override { return rows; }
  at::Tensor output_weight() override;
  at::Tensor output_bias() override { return bias_; }

 private:
  using Cells = std::vector<std::shared_ptr<nn::RecurrentCell>>;

  /// Tokens in the order of computation; those of one step, b of them, after `narrow`.
  struct StepInput {
    at::Tensor x;                   // (N, D), embeddings
    at::Tensor positions;           // (N) int64, in their targets
    std::vector<at::Tensor> masks;  // (N, H) of each layer: dropout factors of its input, or
                                    // undefined
    StepInput narrow(int64_t first, int64_t count) const;
  };
  struct StepOutput {
    at::Tensor inputs;   // (b, ...) of the readout; features with attention after the step
    at::Tensor weights;  // (b, S), undefined without attention
  };
  /// Of all tokens, in their order.
  struct Outputs {
    at::Tensor features;  // (N, D)
    at::Tensor weights;   // (N, S), undefined without attention or a recorder
  };

  Cells make_cells(const std::string& name,
                   int64_t layers,
                   int64_t first_input,
                   int64_t next_input);

  void register_words_of(const ModelOptions& options);
  at::Tensor embedded(nn::TokenEmbedding& words,
                      const at::Tensor& ids,
                      const nn::ForwardContext& context,
                      uint32_t site) const;
  /// The output of a layer, from the state of its cell.
  at::Tensor layer_output(std::size_t layer,
                          const at::Tensor& state,
                          const at::Tensor& input) const;
  at::Tensor summary_of(const at::Tensor& states, const kernels::Layout& layout) const;
  /// The sequences of the encoder.
  RnnDecoderSource read_source(const nn::ForwardContext& context);
  RnnDecoderState initial_state(const RnnDecoderSource& source);

  /// A step of the decoder's layers.
  at::Tensor run_layers(const at::Tensor& x,
                        RnnDecoderState& state,
                        const std::vector<at::Tensor>& masks,
                        const nn::ForwardContext& context);
  StepOutput step(const StepInput& input,
                  const RnnDecoderSource& source,
                  RnnDecoderState& state,
                  const nn::ForwardContext& context);
  Outputs run_by_step(const at::Tensor& x, const nn::ForwardContext& context);

  /// Whether the input of a step depends on what an earlier one has attended to.
  bool attends_between_steps() const;
  /// All steps of the decoder's layers: (N, ...) -> (N, H).
  at::Tensor run_layers(const at::Tensor& x,
                        const at::Tensor& summary,
                        const nn::ForwardContext& context);
  /// The same as run_by_step, one pass of each layer and of the attention, for a decoder that does
  /// not attend between steps.
  Outputs run_by_layer(const at::Tensor& x, const nn::ForwardContext& context);
  at::Tensor read_out(const at::Tensor& inputs);

  ModelOptions options_;
  std::shared_ptr<nn::TokenEmbedding> source_words_;
  std::shared_ptr<nn::TokenEmbedding> target_words_;  // may be the same
  Cells encoder_;
  Cells reverse_encoder_;                            // empty unless bidirectional
  std::vector<nn::Linear> bridges_;                  // C -> H, of each decoder layer
  std::vector<nn::Linear> memory_bridges_;           // of cells with a memory
  std::shared_ptr<nn::EncoderAttention> attention_;  // null without attention
  Cells decoder_;
  nn::Linear readout_{nullptr};
  at::Tensor output_;  // (V, D), undefined if tied
  at::Tensor bias_;    // (V)
};

}  // namespace weft::models
