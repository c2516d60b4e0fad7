#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/to_device.h"
#include "nn/attention/memory/slot_memory.h"
#include "nn/auxiliary_losses.h"
#include "nn/block_hook.h"
#include "nn/carried_state.h"
#include "nn/layer_run.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

constexpr auto kCarriedSlots = "memory_slots";

/// Tokens of segment `index` in a sequence.
int64_t tokens_of_segment(int64_t length, int64_t index, int64_t size) {
  return index == 0 ? std::min(length, size) : std::clamp<int64_t>(length - index * size, 0, size);
}

SegmentRows rows_of_layout(const std::vector<at::Tensor>& keys_and_values,
                           const kernels::Layout& layout) {
  SegmentRows result{.key = keys_and_values[0],
                     .value = keys_and_values[1],
                     .begins = {layout.offsets.begin(), layout.offsets.end() - 1},
                     .lengths = {}};
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    result.lengths.push_back(layout.length(b));
  }
  return result;
}

/// The slots after the segments with these states, one of each sequence.
at::Tensor written(SlotMemory& memory,
                   const at::Tensor& slots,
                   const at::Tensor& states,
                   const ForwardContext& context) {
  return memory.write(
      slots, rows_of_layout(memory.keys_and_values(states, context), context.layout), context);
}

/// One segment of each sequence that has so many.
struct Segment {
  std::vector<int64_t> sequences;  // of the batch
  at::Tensor rows;                 // (M) int64 of the N tokens; undefined: all
  ForwardContext context;          // of these rows
};

/// A pass over whole sequences.
class SegmentPass {
 public:
  SegmentPass(SlotMemory& memory,
              const torch::nn::Module& stack,
              const SegmentLayers& layers,
              const ForwardContext& context)
      : memory_(memory), stack_(stack), layers_(layers), given_(context) {
    TORCH_CHECK(context.encoder_states == nullptr && context.earlier_lengths.has_value(),
                "segments are read of whole sequences without an encoder");
    is_carried_ = context.carried_state != nullptr && !context.streams.empty();
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto count = segments();
    std::vector<at::Tensor> states;
    std::vector<at::Tensor> rows;
    auto slots = slots_before();  // (B, k, D)
    std::vector<int64_t> sequences(static_cast<std::size_t>(given_.layout.sequences()));
    std::iota(sequences.begin(), sequences.end(), 0);
    for (int64_t index = 0; index < count; ++index) {
      const auto segment = segment_of(index, count);
      if (index > 0) {
        slots = slots_of_sequences(slots, places(segment.sequences, sequences));
        sequences = segment.sequences;
      }
      const bool is_last = index + 1 == count;
      const bool is_unrolled = !is_last && (index + 1) % memory_.options().unroll != 0;
      const auto own = segment.rows.defined() ? select_distinct_rows(x, segment.rows) : x;
      auto results = run(segment, own, slots, is_unrolled);
      states.push_back(results[0]);
      rows.push_back(segment.rows);
      if (is_unrolled) {
        slots = results[1];
      } else if (!is_last || is_carried_) {
        const at::NoGradGuard no_gradient;
        slots = written(memory_, slots.detach(), states.back().detach(), segment.context);
      }
      keep(segment, slots);
    }
    return count == 1 ? states.front()
                      : scatter_distinct_rows(at::cat(states), at::cat(rows), x.size(0));
  }

 private:
  int64_t segments() const {
    const auto size = memory_.segment_size();
    const auto longest = given_.layout.max_length;
    return longest <= size ? 1 : (longest - 1) / size + 1;
  }

  at::Tensor slots_before() const {
    auto initial = memory_.initial(given_.layout.sequences());
    if (!is_carried_) {
      return initial;
    }
    auto each = initial.unbind(0);
    for (std::size_t b = 0; b < each.size(); ++b) {
      const auto carried = given_.carried_state->get(given_.streams[b], kCarriedSlots);
      each[b] = carried.defined() ? carried.to(initial.scalar_type()) : each[b];
    }
    return at::stack(each);
  }

  void keep(const Segment& segment, const at::Tensor& slots) const {
    for (std::size_t i = 0; is_carried_ && i < segment.sequences.size(); ++i) {
      given_.carried_state->set(given_.streams[static_cast<std::size_t>(segment.sequences[i])],
                                kCarriedSlots, slots[static_cast<int64_t>(i)].clone());
    }
  }

  /// Where the sequences are among `all`; both increase.
  static std::vector<int64_t> places(const std::vector<int64_t>& sequences,
                                     const std::vector<int64_t>& all) {
    std::vector<int64_t> result;
    for (const auto sequence : sequences) {
      result.push_back(std::ranges::lower_bound(all, sequence) - all.begin());
    }
    return result;
  }

  /// The segment as a batch of its own. The layers see nothing of other steps but the memory.
  Segment segment_of(int64_t index, int64_t count) const {
    const auto size = memory_.segment_size();
    const auto& layout = given_.layout;
    Segment result{.sequences = {}, .rows = {}, .context = given_};
    auto& context = result.context;
    context.carried_state = nullptr;
    context.streams.clear();
    count_earlier(index, context);
    if (count == 1) {
      result.sequences.resize(static_cast<std::size_t>(layout.sequences()));
      std::iota(result.sequences.begin(), result.sequences.end(), 0);
      return result;
    }
    std::vector<int64_t> offsets{0};
    std::vector<int64_t> rows;
    context.prefix_lengths.clear();
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto length = tokens_of_segment(layout.length(b), index, size);
      if (length == 0 && index > 0) {
        continue;
      }
      result.sequences.push_back(b);
      for (int64_t i = 0; i < length; ++i) {
        rows.push_back(layout.offsets[static_cast<std::size_t>(b)] + index * size + i);
      }
      offsets.push_back(offsets.back() + length);
      if (!given_.prefix_lengths.empty()) {
        context.prefix_lengths.push_back(part_of_prefix(given_, b, index * size, length));
      }
    }
    const auto device = layout.positions.device();
    result.rows = kernels::to_device(rows, device);
    context.layout = kernels::Layout::from_offsets(std::move(offsets), device);
    context.attention_recorder = nullptr;  // a layer's weights are those of whole sequences
    if (context.token_types.defined()) {
      context.token_types = context.token_types.index_select(0, result.rows);
    }
    return result;
  }

  /// Keys of dropout count the rows of the same segment in the step, so that they do not depend on
  /// its split into micro-batches.
  void count_earlier(int64_t index, ForwardContext& context) const {
    constexpr uint64_t kSeedStep = 0x9E3779B97F4A7C15;
    context.seed += static_cast<uint64_t>(index) * kSeedStep;
    auto& earlier = *context.earlier_lengths;
    for (auto& length : earlier) {
      length = tokens_of_segment(length, index, memory_.segment_size());
    }
    if (index > 0) {
      std::erase(earlier, 0);
    }
    context.first_row = std::accumulate(earlier.begin(), earlier.end(), int64_t{0});
    context.first_sequence = std::ssize(earlier);
  }

  /// The states of the segment and, if asked for, the slots after it. With memory replay
  /// back-propagation only the input and the slots before it are kept.
  std::vector<at::Tensor> run(const Segment& segment,
                              const at::Tensor& x,
                              const at::Tensor& slots,
                              bool writes) const {
    // Runs again when this pass has ended.
    const auto compute = [&memory = memory_, layers = layers_, writes](
                             const at::Tensor& rows, const ForwardContext& context) {
      std::vector<at::Tensor> results{layers(rows, context)};
      if (writes) {
        results.push_back(written(memory, context.memory_slots, results[0], context));
      }
      return results;
    };
    auto context = segment.context;
    context.memory_slots = slots;
    // A hook must see each block once; the gradients are the same.
    const bool replays = memory_.options().replays && at::GradMode::is_enabled() &&
                         BlockHook::current() == nullptr && context.attention_recorder == nullptr;
    if (!replays) {
      return compute(x, context);
    }
    return recompute_with_losses(
        {x, slots}, stack_, context.auxiliary_losses,
        [=](const std::vector<at::Tensor>& inputs, AuxiliaryLosses& losses) {
          auto own = context;
          own.memory_slots = inputs[1];
          own.auxiliary_losses = context.auxiliary_losses == nullptr ? nullptr : &losses;
          return compute(inputs[0], own);
        });
  }

  SlotMemory& memory_;
  const torch::nn::Module& stack_;
  const SegmentLayers& layers_;
  const ForwardContext& given_;
  bool is_carried_ = false;
};

}  // namespace

at::Tensor run_by_segments(SlotMemory& memory,
                           const torch::nn::Module& stack,
                           const SegmentLayers& layers,
                           const at::Tensor& x,
                           const ForwardContext& context) {
  return context.decoding_state != nullptr ? decode_by_segments(memory, layers, x, context)
                                           : SegmentPass(memory, stack, layers, context).forward(x);
}

}  // namespace weft::nn
