#pragma once

#include <cstdint>
#include <vector>

#include <c10/core/Device.h>

#include "kernels/layout.h"

namespace weft::nn {

/// What a model keeps of the tokens that it has read, so that each step of generation computes only
/// the new ones: keys and values (KvCache) or recurrent state. Sequences have different lengths:
/// nothing is padded. For use without gradients.
///
///   const auto state = model.make_decoding_state(sequences);
///   context.decoding_state = state.get();
///   context.layout = state->begin_step(counts, device);  // prompts first, then one token each
///   hidden = model.hidden(input, context);               // (N, D) of the new tokens
///   state->reorder(rows);                                // for beams, or to drop finished
///   sequences
class DecodingState {
 public:
  virtual ~DecodingState() = default;

  /// Begins a pass over the next `counts[b]` tokens of each sequence. Returns its layout, whose
  /// positions continue from the tokens before.
  virtual kernels::Layout begin_step(const std::vector<int64_t>& counts,
                                     const at::Device& device) = 0;

  /// Replaces sequence b by the former sequence rows[b]; the number of sequences may change.
  virtual void reorder(const std::vector<int64_t>& rows) = 0;
};

}  // namespace weft::nn
