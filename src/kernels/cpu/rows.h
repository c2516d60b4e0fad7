// Iteration over a row, one vector at a time, and over the rows of tiles.
#pragma once

#include <type_traits>

#include "kernels/cpu/vector.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Always inlined: most rows are whole vectors, and these functions are in every loop.
template <class T>
[[gnu::always_inline]] inline Vec load_up_to(const T* p, int count) {
  return count == kLanes ? load(p) : load(p, count);
}
template <class T>
[[gnu::always_inline]] inline void store_up_to(T* p, Vec x, int count) {
  if (count == kLanes) {
    store(p, x);
  } else {
    store(p, x, count);
  }
}

// Prefetches p[i]. An address past the end of an array, or based on null, is harmless.
template <class T>
inline void prefetch(const T* p, int64_t i) {
  const auto address = reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(i) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

// Calls body(column, count) for each vector of a row.
template <class Body>
inline void for_each_vector(int64_t columns, Body body) {
  int64_t column = 0;
  for (; column + kLanes <= columns; column += kLanes) {
    body(column, kLanes);
  }
  if (column < columns) {
    body(column, static_cast<int>(columns - column));
  }
}

// Calls body(count) with the number of rows as a constant, from 1 to kMost; more count as kMost.
template <int kMost, class Body>
inline void with_row_count(int64_t rows, const Body& body) {
  if constexpr (kMost > 1) {
    if (rows < kMost) {
      return with_row_count<kMost - 1>(rows, body);
    }
  }
  body(std::integral_constant<int, kMost>());
}

// Sum of a[i] * b[i].
template <class A, class B>
inline float row_product(const A* a, const B* b, int64_t columns) {
  Vec product = zero();
  for_each_vector(columns, [&](int64_t column, int count) {
    product = fma(load_up_to(a + column, count), load_up_to(b + column, count), product);
  });
  return sum(product);
}

/// Transposes a square of vectors.
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
