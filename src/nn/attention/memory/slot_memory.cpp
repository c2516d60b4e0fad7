#include "nn/attention/memory/slot_memory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "config/section.h"
#include "kernels/linear/linear.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/cross_attention.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "nn/block.h"
#include "nn/decoding_state.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

constexpr auto kSlotKv = "slots";

int64_t projected_size(const AttentionOptions& options) {
  return options.heads * head_dim(options);
}

Linear query_projection(const AttentionOptions& options) {
  return Linear(LinearOptions{options.dim, projected_size(options), options.has_bias});
}

Linear key_value_projection(const AttentionOptions& options) {
  return Linear(LinearOptions{options.dim, 2 * projected_size(options), options.has_bias});
}

/// The options of attention whose keys are slots: of the layer's own, what does not depend on the
/// positions and number of its keys.
AttentionOptions without_positions(const AttentionOptions& options, int64_t layer) {
  return {.dim = options.dim,
          .heads = options.heads,
          .layer = layer,
          .has_bias = options.has_bias,
          .head_dim = options.head_dim,
          .has_output_bias = options.has_output_bias,
          .dropout = options.dropout};
}

}  // namespace

SlotMemory::SlotMemory(const SlotMemoryOptions& options,
                       const AttentionOptions& attention,
                       const NormOptions& norm)
    : options_(options), attention_(attention) {
  query_ = register_module("query", query_projection(attention));
  key_value_ = register_module("key_value", key_value_projection(attention));
  output_ = register_module("output", output_projection(attention));
  update_ = register_module("update", options.update->make({.slots = options.slots, .norm = norm}));
}

int64_t SlotMemory::segment_size() const {
  return options_.segment.value_or(std::numeric_limits<int64_t>::max());
}

at::Tensor SlotMemory::initial(int64_t sequences) const {
  const auto slots = update_->initial();  // (k, D)
  return slots.unsqueeze(0).expand({sequences, -1, -1});
}

std::vector<at::Tensor> SlotMemory::keys_and_values(const at::Tensor& states,
                                                    const ForwardContext& context) {
  return key_value_->forward(states, context).chunk(2, 1);
}

at::Tensor SlotMemory::write(const at::Tensor& memory,
                             const SegmentRows& segment,
                             const ForwardContext& context) {
  const auto type = segment.key.scalar_type();
  const auto sum_type = kernels::accumulate_type(segment.key);
  const auto scale = score_scale(attention_) / options_.temperature;
  const auto slots = memory.flatten(0, 1).to(type);  // (B k, D)
  const auto query = query_->forward(slots, context);
  const auto own = keys_and_values(slots, context);
  const auto heads = [&](const at::Tensor& rows, int64_t begin, int64_t count) {
    return rows.narrow(0, begin, count)
        .to(sum_type)
        .unflatten(1, {attention_.heads, head_dim(attention_)})
        .transpose(0, 1);  // (H, count, K)
  };
  std::vector<at::Tensor> mixed;
  for (int64_t b = 0; b < memory.size(0); ++b) {
    const auto of_slots = [&](const at::Tensor& rows) {
      return heads(rows, b * options_.slots, options_.slots);
    };
    const auto of_tokens = [&](const at::Tensor& rows) {
      const auto i = static_cast<std::size_t>(b);
      return heads(rows, segment.begins[i], segment.lengths[i]);
    };
    const auto queries = of_slots(query) * scale;                             // (H, k, K)
    const auto self = (queries * of_slots(own[0])).sum(2, /*keepdim=*/true);  // (H, k, 1)
    const auto scores =
        kernels::batched_product(queries, of_tokens(segment.key).transpose(1, 2));  // (H, k, l)
    const auto weights = kernels::softmax(at::cat({self, scores}, 2));
    const auto values = weights.narrow(2, 0, 1) * of_slots(own[1]) +
                        kernels::batched_product(weights.slice(2, 1), of_tokens(segment.value));
    mixed.push_back(values.transpose(0, 1).flatten(1));  // (k, H K)
  }
  return update_->forward(memory, output_->forward(at::cat(mixed).to(type), context), context);
}

SlotAttention::SlotAttention(const SlotMemoryOptions& memory,
                             const AttentionOptions& attention,
                             NormOptions norm)
    : memory_(memory), attention_(attention), norm_(std::move(norm)) {
  query_ = register_module("query", query_projection(attention));
  key_value_ = register_module("key_value", key_value_projection(attention));
  output_ = register_module("output", output_projection(attention));
  core_ = register_module(
      "core", std::make_shared<DenseCore>(
                  attention, DenseParts{.score = std::make_shared<DotProductScore>(0)}));
}

std::shared_ptr<SlotMemory> SlotAttention::make_memory() const {
  return std::make_shared<SlotMemory>(memory_, attention_, norm_);
}

at::Tensor SlotAttention::keys_and_values(const at::Tensor& x, const ForwardContext& context) {
  const auto project = [&] {
    return key_value_->forward(context.memory_slots.flatten(0, 1).to(x.scalar_type()), context);
  };
  if (context.decoding_state == nullptr) {
    return project();
  }
  // The slots stay the same until the segment ends.
  auto& kept = context.decoding_state->sequence_tensor(context.depth(attention_.layer), kSlotKv);
  if (!kept.defined()) {
    kept = project().unflatten(0, {-1, memory_.slots});  // (B, k, 2 H K)
  }
  return kept.flatten(0, 1);
}

at::Tensor SlotAttention::forward(const at::Tensor& x, const ForwardContext& context) {
  const auto sequences = context.layout.sequences();
  TORCH_CHECK(context.memory_slots.defined() && context.memory_slots.size(0) == sequences,
              "attention to memory slots needs those of ", sequences, " sequences");
  std::vector<int64_t> offsets;
  for (int64_t b = 0; b <= sequences; ++b) {
    offsets.push_back(b * memory_.slots);
  }
  const auto values = core_->forward(
      {.rows = {.query = query_->forward(x, context), .key = keys_and_values(x, context)},
       .queries = context.layout,
       .keys = kernels::Layout::from_offsets(std::move(offsets), x.device()),
       .rng_key = context.rng_key(site_id(attention_.layer, BlockDropoutSite::kAttentionWeights))},
      context);
  return output_->forward(values, context);
}

at::Tensor slots_of_sequences(const at::Tensor& slots, const std::vector<int64_t>& sequences) {
  const auto index = kernels::to_device(sequences, slots.device());
  return select_distinct_rows(slots.flatten(1), index).view({-1, slots.size(1), slots.size(2)});
}

int64_t part_of_prefix(const ForwardContext& context,
                       int64_t sequence,
                       int64_t begin,
                       int64_t length) {
  return std::clamp<int64_t>(context.prefix_lengths[static_cast<std::size_t>(sequence)] - begin, 0,
                             length);
}

std::shared_ptr<SlotMemory> slot_memory_of(const std::vector<std::shared_ptr<Block>>& blocks) {
  const SlotAttention* reader = nullptr;
  bool reads_encoder = false;
  for (const auto& block : blocks) {
    for (const auto& module : block->modules(/*include_self=*/false)) {
      reads_encoder |= dynamic_cast<const CrossAttention*>(module.get()) != nullptr;
      const auto* const own = dynamic_cast<const SlotAttention*>(module.get());
      if (own == nullptr) {
        continue;
      }
      if (reader != nullptr && own->memory() != reader->memory()) {
        throw config::Error("model.memory: must be the same in all layers, which read one memory");
      }
      reader = own;
    }
  }
  if (reader != nullptr && reads_encoder) {
    throw config::Error(
        "model.block: memory slots are for models without a decoder that reads an encoder");
  }
  return reader == nullptr ? nullptr : reader->make_memory();
}

SublayerDefinition::Maker read_slot_memory(config::Section& section) {
  SlotMemoryOptions memory;
  section.read("slots", memory.slots,
               {.help = "Vectors that a text has as its memory (Memformer, arXiv:2010.06891).",
                .range = config::between(1, 65536)});
  section.read(
      "segment", memory.segment,
      {.help = "Tokens of a segment. A longer sequence is read in segments, which see each "
               "other through the memory alone; it is written after each. null: a "
               "sequence is one segment.",
       .unit = "tokens",
       .range = config::between(1, 1 << 20)});
  section.read("unroll", memory.unroll,
               {.help = "Segments of a sequence that gradients flow through; 1: none flows through "
                        "the memory.",
                .unit = "segments",
                .range = config::between(1, 4096)});
  section.read("replay", memory.replays,
               {.help = "Memory replay back-propagation: training keeps the memories and computes "
                        "each segment again in its backward pass."});
  const auto& updates = slot_updates();
  auto name = updates.names().front();
  section.read_name("write", name, updates.names(),
                    {.help = "How a slot changes by what it reads of a segment. attention_norm: "
                             "that is added, and the sum and a learned bias are normalised; gru: "
                             "by a GRU and a feed-forward layer."});
  section.read("temperature", memory.temperature,
               {.help = "Divides the scores with which slots choose what they read.",
                .range = config::between(0.001, 1000)});
  if (!section.is_documenting() && !memory.segment && memory.unroll > 1) {
    section.fail("unroll", str_cat("found ", memory.unroll, ", must be 1 without segment"));
  }
  if (!section.is_documenting() && !memory.segment && memory.replays) {
    section.fail("replay", "has no effect without segment");
  }
  memory.update = &updates.at(name);
  return [memory](const BlockOptions& options) {
    return std::make_shared<SlotAttention>(
        memory, without_positions(options.attention, options.layer), options.norm);
  };
}

}  // namespace weft::nn
