#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/layout.h"
#include "kernels/random_bits.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

class AttentionRecorder;
class AuxiliaryLosses;
class CarriedState;
class DecodingState;
struct ReversiblePass;
class ScoreChain;

/// Encoder states for a decoder's cross attention, or the rows before a layer that shortens the
/// sequences: sequence b of the layer attends to sequence b of these (with a KV cache, to the one
/// the cache names).
struct EncoderStates {
  at::Tensor states;  // (M, D); of a mix of layers (M, K D): those of each decoder layer
  kernels::Layout layout;
  int64_t stride = 1;           // ForwardContext::stride and token_types of these rows
  at::Tensor token_types = {};  // (M)
};

/// A vector for each distance between two tokens, which each layer projects for itself.
struct DistanceTable {
  at::Tensor vectors;  // (R, D)
  /// kernels::DistanceVectors::rows
  std::shared_ptr<const std::vector<int32_t>> rows;
};

/// Sentences of the sequences, in order, for models that read them separately; both empty: each
/// sequence is one sentence.
struct Sentences {
  std::vector<int64_t> lengths = {};  // tokens of each sentence
  std::vector<int64_t> counts = {};   // sentences of each sequence
  std::vector<int64_t> targets = {};  // loss targets of each sentence that has some
};

/// State shared by all modules in one forward pass.
struct ForwardContext {
  kernels::Layout layout;
  int64_t stride = 1;  // tokens of the text from one row to the next: above 1 after pooling
  /// Types of the rows, (N) int64, for layers that compare them; undefined: all the same.
  at::Tensor token_types = {};
  bool is_training = false;  // dropout on
  uint64_t seed = 0;
  uint64_t step = 0;
  int64_t layer_shift = 0;  // from the layer whose parameters this one shares
  int64_t first_row = 0;    // tokens and sequences of the step in earlier micro-batches
  int64_t first_sequence = 0;
  int64_t first_target = 0;      // and loss targets
  int64_t first_source_row = 0;  // and source tokens
  /// Tokens of the sequences of the step in earlier micro-batches, and of their sources; nullopt:
  /// the rows are a selection of tokens, of which the lengths are not known.
  std::optional<std::vector<int64_t>> earlier_lengths = std::vector<int64_t>();
  std::vector<int64_t> earlier_source_lengths = {};
  Sentences sentences = {};
  Sentences earlier_sentences = {};  // of the sequences of the step in earlier micro-batches
  bool recomputes_layers = false;    // layers keep only their input for the backward pass
  AttentionRecorder* attention_recorder = nullptr;  // receives attention weights, if set
  /// For blocks with cross attention or pooled queries.
  const EncoderStates* encoder_states = nullptr;
  /// Those of each layer of the stack, where they differ; set by the stack.
  std::shared_ptr<const std::vector<EncoderStates>> encoder_states_by_layer = nullptr;
  DecodingState* decoding_state = nullptr;      // of generation: what earlier passes have computed
  std::vector<int64_t>* exit_layers = nullptr;  // receives the layers that each sequence needed
  AuxiliaryLosses* auxiliary_losses = nullptr;  // receives losses of layers, if set
  CarriedState* carried_state = nullptr;        // continues from step to step, if set
  std::vector<int64_t> streams = {};            // stream of each sequence; empty: none continues
  /// What each sequence remembers of its earlier segments, (B, k, D), for sub-layers that read it;
  /// set by the stack.
  at::Tensor memory_slots = {};
  /// Tokens at the start of each sequence that all of its tokens see, even with causal attention
  /// (prefix LM, arXiv:1910.10683, section 3.2.1); empty: none.
  std::vector<int64_t> prefix_lengths = {};
  /// Bias added to the scores by distance (kernels::AttentionSettings); set by the stack.
  at::Tensor distance_bias = {};
  /// Set by the stack if it has such positions.
  DistanceTable distance_table = {};
  /// Tensors of position types that all layers share, by name; set by the stack.
  std::map<std::string, at::Tensor> position_tensors = {};
  /// The attention scores of the layer before, for types that add them; set by the stack.
  std::shared_ptr<ScoreChain> score_chain = nullptr;
  /// Of reversible layers; set by the stack.
  std::shared_ptr<ReversiblePass> reversible_pass = nullptr;

  /// Index of the running layer, given that of the one whose parameters it has.
  int64_t depth(int64_t layer) const { return layer + layer_shift; }

  /// Effective dropout rate in this pass.
  double rate(double dropout) const { return is_training ? dropout : 0.0; }

  kernels::RngKey rng_key(uint32_t site) const {
    return {.seed = seed,
            .step = step,
            .site = site + static_cast<uint32_t>(layer_shift) * kSitesPerBlock,
            .first_row = first_row,
            .first_sequence = first_sequence};
  }

  /// For tensors with one row per sequence, (B, D), rather than per token.
  kernels::RngKey sequence_rng_key(uint32_t site) const {
    auto result = rng_key(site);
    result.first_row = first_sequence;
    return result;
  }
};

/// For the rows of a layer that changes the lengths of sequences: `length_of` those of the earlier
/// micro-batches too, and counts their rows anew, so that the keys of dropout do not depend on the
/// split of a step.
template <class LengthOf>
void change_earlier_lengths(ForwardContext& context, const LengthOf& length_of) {
  if (!context.earlier_lengths) {
    return;
  }
  context.first_row = 0;
  for (auto& length : *context.earlier_lengths) {
    length = length_of(length);
    context.first_row += length;
  }
}

}  // namespace weft::nn
