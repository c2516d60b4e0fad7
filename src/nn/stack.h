#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "nn/attention/tree/span_nodes.h"
#include "nn/block.h"
#include "nn/convolution/input_convolution.h"
#include "nn/depth/drop_path.h"
#include "nn/depth/halting.h"
#include "nn/embedding/step_embedding.h"
#include "nn/layer_mix.h"
#include "nn/position/position.h"
#include "nn/reversible.h"

namespace weft::nn {

class SlotMemory;

struct StackOptions {
  std::vector<BlockOptions> layers;  // `layer` is filled in
  /// Number of layers with parameters of their own; the others share those of the layer before them
  /// (arXiv:1909.11942). 0: all.
  int64_t layer_groups = 0;
  /// Times that each layer with parameters of its own runs in a row; empty: as layer_groups says.
  std::vector<int64_t> repeats = {};
  bool cycles_layers = false;  // the layers with parameters of their own come first and are
                               // repeated in their order (arXiv:1807.03819)
  /// Names of the kinds of sub-layers that are shared; empty: whole layers.
  std::vector<std::string> shared_sublayers = {};
  int64_t first_layer = 0;  // index of the first layer: a decoder's dropout sites continue after
                            // those of its encoder
  StochasticDepth stochastic_depth = {};
  std::optional<HaltingOptions> halting = {};  // tokens need different numbers of layers
  std::optional<StepEmbeddingType> step_embedding = {};
  /// Layers with two streams that keep no activations for the backward pass. The blocks must have
  /// their norms in front of the sub-layers, which all add to their input.
  std::optional<StreamMerge> reversible = {};
  /// Beside the first layer, with that layer's norm and dropout.
  std::optional<InputConvolutionOptions> input_convolution = {};
  std::optional<NormOptions> norm = {};     // final norm of pre-norm stacks
  std::optional<LayerMixOptions> mix = {};  // the output is a mix of the states of all layers
  bool has_encoder_mix = false;             // the encoder states are a mix for each layer
  bool may_shorten = false;  // the model can read fewer rows than tokens after the layers
  Positions positions = {};  // rotate queries and keys, and bias the scores, in all layers
};

/// Sequence of blocks, each of its own specification, and the final norm if there is one. States
/// between reversible layers are both streams, (2 N, D). Throws config::Error for parts that do not
/// go together, as layers whose widths do not fit each other.
class StackImpl : public torch::nn::Module {
 public:
  explicit StackImpl(const StackOptions& options);

  /// (N, D) -> (N, D), or (N, 2 D) with concatenated streams, or (N, K D) with a mix that has K
  /// outputs.
  at::Tensor forward(const at::Tensor& x, const ForwardContext& context);

  /// The parts of forward(), for callers that need the states between the layers.

  /// The context with what the attention of all layers shares: the distance biases, added up, the
  /// distance table, the tensors of positions, and the scores that a layer leaves to the next.
  ForwardContext with_shared_scores(const ForwardContext& context, const at::Device& device) const;
  /// Output of one layer, (N, D), or its selected rows, (M, D). `shared`: a context with the shared
  /// scores. Not for layers that shorten the sequences.
  at::Tensor forward_layer(std::size_t layer,
                           const at::Tensor& x,
                           const ForwardContext& shared,
                           const RowSelection* selection = nullptr);
  /// The norm after the last layer, if there is one.
  at::Tensor final_norm(const at::Tensor& stream) const;

  /// Whether the states between the layers have D features, as those after them do.
  bool has_one_width() const { return has_one_width_; }
  /// Whether the rows between the layers are more than the tokens, so that only forward() and
  /// forward_selected() can be called.
  bool has_span_nodes() const { return span_nodes_ != SpanNodes::kNone; }
  /// Whether the stack reads segments one after another and writes a memory after each, so that
  /// only forward() and forward_selected() can be called.
  bool has_memory() const { return memory_ != nullptr; }

  /// The context of the rows that forward() returns: another one if layers shorten the sequences.
  ForwardContext context_after(const ForwardContext& context) const;

  /// Only the selected rows that forward() returns; the last block skips the others.
  /// (N, D) -> (M, D)
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection);

 private:
  ForwardContext begin(const at::Tensor& x, const ForwardContext& given) const;
  /// The input of the first layer, and the states after the last.
  at::Tensor opened(const at::Tensor& x) const;
  at::Tensor closed(const at::Tensor& states, at::ScalarType type) const;
  /// The parts of forward() after the rows of spans.
  at::Tensor forward_rows(const at::Tensor& x, const ForwardContext& context);
  /// Mix of the states of all layers: (N, D) -> (N, K D), or the selected rows.
  at::Tensor forward_mix(const at::Tensor& x,
                         const ForwardContext& shared,
                         const RowSelection* selection);
  /// Output of all layers with adaptive computation time.
  at::Tensor forward_halting(const at::Tensor& x, const ForwardContext& shared);
  /// Output of a layer with what is added beside it, given its input.
  at::Tensor layer_output(std::size_t layer,
                          const at::Tensor& x,
                          const at::Tensor& states,
                          const ForwardContext& shared,
                          const RowSelection* selection) const;
  at::Tensor layer_input(std::size_t layer, const at::Tensor& x, const ForwardContext& context);
  /// Whether training leaves the layer out in this step.
  bool is_dropped(std::size_t layer, const ForwardContext& context) const;
  /// The context of a layer.
  ForwardContext at_layer(std::size_t layer, const ForwardContext& context) const;
  /// Output of the first `count` blocks.
  at::Tensor forward_first(std::size_t count, const at::Tensor& x, const ForwardContext& given);
  /// The context of the rows that a layer returns, given that of those that it reads.
  ForwardContext context_after_layer(std::size_t layer, const ForwardContext& context) const;
  /// The context of the rows that a layer reads.
  ForwardContext context_before(std::size_t layer, ForwardContext context) const;

  std::vector<std::shared_ptr<Block>> blocks_;  // of each layer
  std::vector<int64_t> shifts_;                 // ForwardContext::layer_shift of each layer
  int64_t first_layer_;
  double layerdrop_;
  bool has_dropout_;
  std::optional<StreamMerge> reversible_;
  bool has_encoder_mix_;
  bool has_one_width_ = true;
  SpanNodes span_nodes_ = SpanNodes::kNone;  // between the layers
  bool shortens_sequences_ = false;
  std::vector<std::shared_ptr<PositionBias>> biases_;
  std::shared_ptr<DistanceEmbedding> distances_;  // null: none
  std::vector<std::shared_ptr<SharedPositions>> shared_positions_;
  std::shared_ptr<InputConvolution> input_convolution_;  // null: none
  StepEmbedding step_embedding_{nullptr};
  Halting halting_{nullptr};
  LayerMix mix_{nullptr};
  std::shared_ptr<SlotMemory> memory_;  // null: none
  std::shared_ptr<Norm> norm_;          // null in post-norm stacks
};
TORCH_MODULE(Stack);

struct StackBlocks {
  std::vector<std::shared_ptr<Block>> distinct;  // with parameters of their own
  std::vector<std::size_t> owners;               // of each layer: the one that it runs
  bool has_one_width = true;                     // D features between the layers
};

/// The blocks of a stack. Throws config::Error for layers whose widths do not fit each other.
StackBlocks make_blocks(const StackOptions& options);

}  // namespace weft::nn
