// Rotary position embedding of queries and keys (arXiv:2104.09864). Included only by per-level
// translation units.
#pragma once

#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Rows of `width` floats, `stride` apart, rotated by the angles in the same rows of `table` (null:
// not rotated). Features c and c + width / 2 form a pair.
struct RotaryRows {
  float* rows;
  int64_t count;
  int64_t stride;
  int64_t width;
  const float* table;  // (count, width): cosines, then sines
};

// `kIsBackward`: rotates by the negated angles, as the gradient requires.
template <bool kIsBackward>
inline void apply_rotary(const RotaryRows& t) {
  if (t.table == nullptr) {
    return;
  }
  const int64_t half = t.width / 2;
  for (int64_t i = 0; i < t.count; ++i) {
    float* const first = t.rows + i * t.stride;
    float* const second = first + half;
    const float* const cosines = t.table + i * t.width;
    for_each_vector(half, [&](int64_t c, int count) {
      const Vec a = load_up_to(first + c, count);
      const Vec b = load_up_to(second + c, count);
      const Vec cosine = load_up_to(cosines + c, count);
      const Vec given = load_up_to(cosines + half + c, count);
      const Vec sine = kIsBackward ? zero() - given : given;
      store_up_to(first + c, a * cosine - b * sine, count);
      store_up_to(second + c, b * cosine + a * sine, count);
    });
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
