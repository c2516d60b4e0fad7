// Rotary position embedding of queries and keys (arXiv:2104.09864). Included only by per-level
// translation units.
#pragma once

#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Rotates one head: features c and c + half form a pair. `angles`: cosines, then sines; `direction`
// is 1, or -1 for the gradient. `out` may be x.
template <class T>
inline void rotate_head(const T* x, const float* angles, int64_t half, float direction, T* out) {
  const Vec sign = set(direction);
  for_each_vector(half, [&](int64_t c, int count) {
    const Vec a = load_up_to(x + c, count);
    const Vec b = load_up_to(x + half + c, count);
    const Vec cosine = load_up_to(angles + c, count);
    const Vec sine = load_up_to(angles + half + c, count) * sign;
    store_up_to(out + c, a * cosine - b * sine, count);
    store_up_to(out + half + c, b * cosine + a * sine, count);
  });
}

template <class T>
void rotate(RotateRows<T> work) {
  for (int64_t row = 0; row < work.rows; ++row) {
    const float* const angles = work.table + work.positions[row] * work.rotary_width;
    for (int64_t head = 0; head < work.heads; ++head) {
      const T* const x = work.x + row * work.row_stride + head * work.width;
      T* const out = work.out + (row * work.heads + head) * work.width;
      rotate_head(x, angles, work.rotary_width / 2, work.direction, out);
      for (int64_t c = work.rotary_width; c < work.width; ++c) {
        out[c] = x[c];
      }
    }
  }
}

// Rows of `width` floats, `stride` apart, rotated by the angles in the same rows of `table` (null:
// not rotated).
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
  for (int64_t i = 0; i < t.count; ++i) {
    float* const row = t.rows + i * t.stride;
    rotate_head(row, t.table + i * t.width, t.width / 2, kIsBackward ? -1.0F : 1.0F, row);
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
