#include "kernels/cpu/packing.h"

#if defined(__x86_64__)

#include <algorithm>

#include <immintrin.h>

namespace weft::kernels::cpu {
namespace {

using Words = __m512i;  // 16 pairs of bf16, or 32 bf16

constexpr int64_t kLanes = 16;
constexpr int64_t kHalves = 32;

inline __mmask32 first_halves(int64_t count) {
  return count >= kHalves ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

inline Words load(const Bf16* p, int64_t count) {
  return count >= kHalves ? _mm512_loadu_si512(p)
                          : _mm512_maskz_loadu_epi16(first_halves(count), p);
}

inline void store(Bf16* p, Words x, int64_t count) {
  if (count >= kHalves) {
    _mm512_storeu_si512(p, x);
  } else {
    _mm512_mask_storeu_epi16(p, first_halves(count), x);
  }
}

// Loads bf16 values of one row, starting at a column; zeros outside the matrix.
inline Words halves(const Pack<Bf16>& pack, int64_t row, int64_t column) {
  const int64_t count = row < pack.rows ? pack.columns - column : 0;
  return count > 0 ? load(pack.in + row * pack.stride + column, count) : _mm512_setzero_si512();
}

// Prefetches two rows, kAhead rows ahead: the hardware does not prefetch large strides.
template <int64_t kAhead>
inline void prefetch_rows(const Pack<Bf16>& pack, int64_t row, int64_t column) {
  if (row + kAhead + 1 < pack.rows && column < pack.columns) {
    const Bf16* const ahead = pack.in + (row + kAhead) * pack.stride + column;
    _mm_prefetch(ahead, _MM_HINT_T0);
    _mm_prefetch(ahead + pack.stride, _MM_HINT_T0);
  }
}

// Transposes a square of words. Data stays in its 128-bit lane until the last stage.
inline void transpose(Words (&x)[kLanes]) {
  Words y[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  constexpr int kEven = 0x88;  // lanes 0 and 2 of both
  constexpr int kOdd = 0xDD;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Words even_low = _mm512_shuffle_i32x4(x[i], x[i + 4], kEven);
    const Words even_high = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], kEven);
    const Words odd_low = _mm512_shuffle_i32x4(x[i], x[i + 4], kOdd);
    const Words odd_high = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], kOdd);
    x[i] = _mm512_shuffle_i32x4(even_low, even_high, kEven);
    x[i + 4] = _mm512_shuffle_i32x4(odd_low, odd_high, kEven);
    x[i + 8] = _mm512_shuffle_i32x4(even_low, even_high, kOdd);
    x[i + 12] = _mm512_shuffle_i32x4(odd_low, odd_high, kOdd);
  }
}

// Transposes half of a 32 x 32 square: the first or last 4 of every 8 columns.
template <bool kUpper>
void transpose_square(const Pack<Bf16>& pack, int64_t row, int64_t column) {
  Words square[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const Words a = halves(pack, row + 2 * i, column);
    const Words b = halves(pack, row + 2 * i + 1, column);
    if constexpr (!kUpper) {
      prefetch_rows<kHalves>(pack, row + 2 * i, column);
    }
    square[i] = kUpper ? _mm512_unpackhi_epi16(a, b) : _mm512_unpacklo_epi16(a, b);
  }
  transpose(square);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    const int64_t out_column = column + i / 4 * 8 + (kUpper ? 4 : 0) + i % 4;
    if (out_column < pack.out_columns) {
      store(pack.out + out_column * pack.out_rows + row, square[i], pack.out_rows - row);
    }
  }
}

}  // namespace

void pack_row_pairs(const Pack<Bf16>& pack) {
  alignas(64) static constexpr uint16_t kPlaces[2][kHalves] = {
      {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
       8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
      {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
       24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
  const Words low = _mm512_load_si512(kPlaces[0]);
  const Words high = _mm512_load_si512(kPlaces[1]);
  for (int64_t row = 0; row < pack.out_rows; row += 2) {
    Bf16* const out = pack.out + row * pack.out_columns;
    for (int64_t column = 0; column < pack.out_columns; column += kHalves) {
      const Words a = halves(pack, row, column);
      const Words b = halves(pack, row + 1, column);
      prefetch_rows<16>(pack, row, column);
      const int64_t left = 2 * (pack.out_columns - column);
      store(out + 2 * column, _mm512_permutex2var_epi16(a, low, b), left);
      if (left > kHalves) {
        store(out + 2 * column + kHalves, _mm512_permutex2var_epi16(a, high, b), left - kHalves);
      }
    }
  }
}

void pack_column_pairs(const Pack<Bf16>& pack) {
  for (int64_t row = 0; row < pack.out_rows; row += kLanes) {
    const int64_t width = 2 * (pack.out_rows - row);
    for (int64_t column = 0; column < pack.out_columns; column += kHalves) {
      Words square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        square[i] = halves(pack, row + i, column);
      }
      transpose(square);
      Bf16* const out = pack.out + column * pack.out_rows + 2 * row;
      const int64_t pairs = std::min(kLanes, (pack.out_columns - column) / 2);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if (i < pairs) {
          store(out + 2 * i * pack.out_rows, square[i], width);
        }
      }
    }
  }
}

void pack_transposed(const Pack<Bf16>& pack) {
  for (int64_t row = 0; row < pack.out_rows; row += kHalves) {
    for (int64_t column = 0; column < pack.out_columns; column += kHalves) {
      transpose_square<false>(pack, row, column);
      transpose_square<true>(pack, row, column);
    }
  }
}

}  // namespace weft::kernels::cpu

#else

namespace weft::kernels::cpu {

// Never called: see multiplies_bf16.
void pack_row_pairs(const Pack<Bf16>&) {}
void pack_column_pairs(const Pack<Bf16>&) {}
void pack_transposed(const Pack<Bf16>&) {}

}  // namespace weft::kernels::cpu

#endif
