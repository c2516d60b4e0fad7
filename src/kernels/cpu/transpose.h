// Transposes a square of vectors. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/vector.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline void transpose(Vec rows[kLanes]) {
  for (int stage = 1; stage < kLanes; stage *= 2) {
    Vec next[kLanes];
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + kLanes / 2]);
      next[2 * i + 1] = zip_high(rows[i], rows[i + kLanes / 2]);
    }
    for (int i = 0; i < kLanes; ++i) {
      rows[i] = next[i];
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
