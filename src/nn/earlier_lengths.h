#pragma once

#include <cstdint>

#include "nn/forward_context.h"

namespace weft::nn {

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
