#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <ATen/Functions.h>

#include "kernels/to_device.h"
#include "nn/attention/kv_cache.h"
#include "nn/attention/memory/slot_memory.h"
#include "nn/decoding_state.h"

namespace weft::nn {

namespace {

constexpr auto kKeptSlots = "memory_slots";
constexpr int64_t kStackLayer = -1;  // of what the stack keeps in a decoding state

/// A pass of generation over the next tokens of each sequence.
class SegmentDecoding {
 public:
  SegmentDecoding(SlotMemory& memory,
                  const SegmentLayers& layers,
                  const ForwardContext& context,
                  const at::Tensor& x)
      : memory_(memory),
        layers_(layers),
        given_(context),
        x_(x),
        size_(memory.segment_size()),
        state_(*context.decoding_state),
        segment_(state_.segment_state()),
        done_(static_cast<std::size_t>(state_.sequences()), 0) {
    auto& slots = state_.sequence_tensor(kStackLayer, kKeptSlots);
    if (!slots.defined()) {
      slots = memory.initial(state_.sequences()).contiguous();
    }
  }

  at::Tensor forward() {
    output_ = at::empty_like(x_);
    bool is_done = false;
    while (!is_done) {
      is_done = !continue_segments();
      is_done = !begin_segments() && is_done;
    }
    return output_;
  }

 private:
  int64_t left(std::size_t b) const {
    return given_.layout.length(static_cast<int64_t>(b)) - done_[b];
  }
  /// Tokens of the current segment so far; 0: the next token begins one.
  int64_t filled(std::size_t b) const { return segment_.lengths()[b] % size_; }

  /// Runs the sequences that are in the middle of a segment up to its end, or theirs. Returns
  /// whether there are any.
  bool continue_segments() {
    std::vector<int64_t> all(done_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<int64_t> counts;
    for (std::size_t b = 0; b < done_.size(); ++b) {
      counts.push_back(filled(b) == 0 ? 0 : std::min(left(b), size_ - filled(b)));
    }
    if (std::ranges::max(counts) == 0) {
      return false;
    }
    run(segment_, all, counts);
    return true;
  }

  /// Runs the sequences that begin a segment. Returns whether there are any.
  bool begin_segments() {
    std::vector<int64_t> sequences;
    std::vector<int64_t> counts;
    for (std::size_t b = 0; b < done_.size(); ++b) {
      if (filled(b) == 0 && left(b) > 0) {
        sequences.push_back(static_cast<int64_t>(b));
        counts.push_back(std::min(left(b), size_));
      }
    }
    if (sequences.empty()) {
      return false;
    }
    DecodingState fresh(std::ssize(sequences));
    run(fresh, sequences, counts);
    segment_.replace(sequences, fresh);
    return true;
  }

  /// Runs the next `counts` tokens of the sequences, whose segments have this state.
  void run(DecodingState& state,
           const std::vector<int64_t>& sequences,
           const std::vector<int64_t>& counts) {
    std::vector<int64_t> rows;
    auto context = given_;
    context.prefix_lengths.clear();
    context.attention_recorder = nullptr;
    context.decoding_state = &state;
    context.layout = state.begin_step(counts, x_.device());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto b = static_cast<std::size_t>(sequences[i]);
      const auto begin = given_.layout.offsets[b] + done_[b];
      for (int64_t token = 0; token < counts[i]; ++token) {
        rows.push_back(begin + token);
      }
      if (!given_.prefix_lengths.empty()) {
        const auto first = state_.previous_lengths()[b] + done_[b] - state.previous_lengths()[i];
        context.prefix_lengths.push_back(
            part_of_prefix(given_, sequences[i], first, state.lengths()[i]));
      }
      done_[b] += counts[i];
    }
    const auto index = kernels::to_device(rows, x_.device());
    if (context.token_types.defined()) {
      context.token_types = context.token_types.index_select(0, index);
    }
    auto& slots = state_.sequence_tensor(kStackLayer, kKeptSlots);
    context.memory_slots = slots_of_sequences(slots, sequences);
    const auto states = layers_(x_.index_select(0, index), context);
    output_.index_copy_(0, index, states);
    write(states, sequences, context, slots);
  }

  /// Writes the memory of sequences whose segment has ended.
  void write(const at::Tensor& states,
             const std::vector<int64_t>& sequences,
             const ForwardContext& context,
             at::Tensor& slots) const {
    if (!memory_.options().segment) {
      return;
    }
    const auto own = memory_.keys_and_values(states, context);
    const auto cached = kv_cache_of(context).extend(kStackLayer, own[0], own[1]);
    SegmentRows ended{.key = cached.key, .value = cached.value, .begins = {}, .lengths = {}};
    std::vector<int64_t> written;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const bool is_new = context.layout.length(static_cast<int64_t>(i)) > 0;
      if (is_new && context.decoding_state->lengths()[i] == size_) {
        written.push_back(sequences[i]);
        ended.begins.push_back(cached.starts[i]);
        ended.lengths.push_back(size_);
      }
    }
    if (!written.empty()) {
      const auto index = kernels::to_device(written, slots.device());
      slots = slots.index_copy(0, index,
                               memory_.write(slots_of_sequences(slots, written), ended, context));
    }
  }

  SlotMemory& memory_;
  const SegmentLayers& layers_;
  const ForwardContext& given_;
  const at::Tensor& x_;
  int64_t size_;
  DecodingState& state_;    // of the sequences
  DecodingState& segment_;  // of their current segments
  std::vector<int64_t> done_;
  at::Tensor output_;
};

}  // namespace

at::Tensor decode_by_segments(SlotMemory& memory,
                              const SegmentLayers& layers,
                              const at::Tensor& x,
                              const ForwardContext& context) {
  return SegmentDecoding(memory, layers, context, x).forward();
}

}  // namespace weft::nn
