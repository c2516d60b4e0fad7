#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "base/registry.h"
#include "nn/attention/attention.h"
#include "nn/attention/attention_core.h"
#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/sublayer.h"

namespace weft::nn {

class Block;

struct SlotUpdateOptions {
  int64_t slots = 0;  // k
  NormOptions norm = {};

  int64_t dim() const { return norm.dim; }  // D
};

/// How memory slots change, given what they read of a segment.
class SlotUpdate : public torch::nn::Module {
 public:
  /// The memory before the first segment, (k, D).
  virtual at::Tensor initial() const = 0;
  /// memory (B, k, D) in fp32 or fp64, read (B k, D) -> (B, k, D) in the type of `memory`.
  virtual at::Tensor forward(const at::Tensor& memory,
                             const at::Tensor& read,
                             const ForwardContext& context) = 0;
};

struct SlotUpdateDefinition {
  std::string_view name;
  std::shared_ptr<SlotUpdate> (*make)(const SlotUpdateOptions& options);
};

/// The values of `model.memory.write`.
const Registry<SlotUpdateDefinition>& slot_updates();

/// Memformer (arXiv:2010.06891): k vectors per sequence, which all layers read and which are
/// written after each segment of it.
struct SlotMemoryOptions {
  int64_t slots = 32;                   // k
  std::optional<int64_t> segment = {};  // tokens of a segment; nullopt: a sequence is one
  int64_t unroll = 1;                   // segments that gradients flow through
  bool replays = false;                 // the backward pass computes each segment again
  double temperature = 1;               // of the scores of the slots
  const SlotUpdateDefinition* update = nullptr;

  bool operator==(const SlotMemoryOptions&) const = default;
};

/// What the slots of some sequences are written from: keys and values of the tokens of a segment.
struct SegmentRows {
  at::Tensor key;               // (rows, H K)
  at::Tensor value;             // (rows, H K)
  std::vector<int64_t> begins;  // the first row of each sequence
  std::vector<int64_t> lengths;
};

/// The memory of a stack.
class SlotMemory : public torch::nn::Module {
 public:
  /// `attention`: width, heads and biases of the projections.
  SlotMemory(const SlotMemoryOptions& options,
             const AttentionOptions& attention,
             const NormOptions& norm);

  const SlotMemoryOptions& options() const { return options_; }
  /// Tokens of a segment; the largest number: a sequence is one.
  int64_t segment_size() const;

  /// The memory of sequences without earlier segments, (B, k, D), in fp32 or fp64.
  at::Tensor initial(int64_t sequences) const;
  /// The keys and values of the states after the last layer: (N, D) -> two of (N, H K).
  std::vector<at::Tensor> keys_and_values(const at::Tensor& states, const ForwardContext& context);
  /// The memory after a segment: (B, k, D) -> (B, k, D). Each slot attends to itself and to the
  /// tokens, not to other slots.
  at::Tensor write(const at::Tensor& memory,
                   const SegmentRows& segment,
                   const ForwardContext& context);

 private:
  SlotMemoryOptions options_;
  AttentionOptions attention_;
  Linear query_{nullptr};
  Linear key_value_{nullptr};  // weight (2 H K, D): rows of key, then value
  Linear output_{nullptr};
  std::shared_ptr<SlotUpdate> update_;
};

/// The sub-layer `memory`: each token attends to the slots of its sequence.
class SlotAttention : public Sublayer {
 public:
  SlotAttention(const SlotMemoryOptions& memory,
                const AttentionOptions& attention,
                NormOptions norm);

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override;
  bool mixes_tokens() const override { return false; }

  /// The memory that it reads.
  const SlotMemoryOptions& memory() const { return memory_; }
  std::shared_ptr<SlotMemory> make_memory() const;

 private:
  /// (B k, 2 H K)
  at::Tensor keys_and_values(const at::Tensor& x, const ForwardContext& context);

  SlotMemoryOptions memory_;
  AttentionOptions attention_;
  NormOptions norm_;
  std::shared_ptr<AttentionCore> core_;
  Linear query_{nullptr};
  Linear key_value_{nullptr};  // weight (2 H K, D): rows of key, then value
  Linear output_{nullptr};
};

/// The memory that sub-layers of these blocks read; nullptr: none does. Throws config::Error if
/// they differ in it, or for decoders with an encoder.
std::shared_ptr<SlotMemory> slot_memory_of(const std::vector<std::shared_ptr<Block>>& blocks);

/// The layers of a stack on rows (N, D) -> (N, D).
using SegmentLayers = std::function<at::Tensor(const at::Tensor& x, const ForwardContext& context)>;

/// Output of the layers of `stack` (N, D), which run on one segment of each sequence after another,
/// with the memory of those before: of the same sequence, and of the earlier steps of its stream
/// (ForwardContext::carried_state) or the earlier passes of generation.
at::Tensor run_by_segments(SlotMemory& memory,
                           const torch::nn::Module& stack,
                           const SegmentLayers& layers,
                           const at::Tensor& x,
                           const ForwardContext& context);

/// The same for the next tokens of sequences that are generated.
at::Tensor decode_by_segments(SlotMemory& memory,
                              const SegmentLayers& layers,
                              const at::Tensor& x,
                              const ForwardContext& context);

/// The slots of some sequences, whose indices differ: (B, k, D) -> (B', k, D).
at::Tensor slots_of_sequences(const at::Tensor& slots, const std::vector<int64_t>& sequences);
/// The part of a sequence's prefix that lies in `length` tokens from `begin` on.
int64_t part_of_prefix(const ForwardContext& context,
                       int64_t sequence,
                       int64_t begin,
                       int64_t length);

/// Reads `model.memory`.
SublayerDefinition::Maker read_slot_memory(config::Section& section);

}  // namespace weft::nn
