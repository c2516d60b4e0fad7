// Sums over rows, sums of squares, embeddings. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int kColumnVectors = 4;  // vectors of columns whose sums stay in registers

// Sums `count` rows given by row(i), `kVectors` vectors starting at `column`; the last vector may
// be partial.
template <int kVectors, class T, class Row>
inline void sum_columns(int64_t count, int64_t column, int last, float* sum_fp32, T* out, Row row) {
  Vec total[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    total[v] = zero();
  }
  for (int64_t i = 0; i < count; ++i) {
    const T* const x = row(i) + column;
    for (int v = 0; v + 1 < kVectors; ++v) {
      total[v] = total[v] + load(x + v * kLanes);
    }
    total[kVectors - 1] = total[kVectors - 1] + load_up_to(x + (kVectors - 1) * kLanes, last);
  }
  for (int v = 0; v < kVectors; ++v) {
    const int lanes = v + 1 < kVectors ? kLanes : last;
    if (sum_fp32 != nullptr) {
      store_up_to(sum_fp32 + column + v * kLanes, total[v], lanes);
    } else {
      store_up_to(out + column + v * kLanes, total[v], lanes);
    }
  }
}

template <class T, class Row>
inline void sum_rows(int64_t count, int64_t columns, float* sum_fp32, T* out, Row row) {
  int64_t column = 0;
  for (; column + kColumnVectors * kLanes <= columns; column += kColumnVectors * kLanes) {
    sum_columns<kColumnVectors>(count, column, kLanes, sum_fp32, out, row);
  }
  for (; column < columns; column += kLanes) {
    const int64_t left = columns - column;
    sum_columns<1>(count, column, left < kLanes ? static_cast<int>(left) : kLanes, sum_fp32, out,
                   row);
  }
}

template <class T>
void gather_sum(const GatherSum<T>& gather) {
  const T* const table = gather.table;
  const int64_t* const rows = gather.rows;
  const int64_t columns = gather.columns;
  sum_rows(gather.count, columns, gather.sum_fp32, gather.out,
           [table, rows, columns](int64_t i) { return table + rows[i] * columns; });
}

/// sum_fp32[j] = sum of x[i, j] over the rows.
template <class T>
void column_sum(const T* x, int64_t rows, int64_t columns, float* sum_fp32) {
  sum_rows(rows, columns, sum_fp32, static_cast<T*>(nullptr),
           [x, columns](int64_t i) { return x + i * columns; });
}

template <class T>
double sum_of_squares(const T* x, int64_t size, uint8_t* is_nonzero) {
  Squares squares[2];
  int64_t i = 0;
  for (int64_t begin = 0; begin < size; begin += kUpdateBlock) {
    const int64_t end = begin + kUpdateBlock < size ? begin + kUpdateBlock : size;
    Vec bits = zero();
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const Vec a = load(x + i);
      const Vec b = load(x + i + kLanes);
      bits = either_bits(bits, either_bits(a, b));
      add_squares(squares[0], a);
      add_squares(squares[1], b);
    }
    for (; i < end; i += kLanes) {
      const int64_t left = end - i;
      const Vec a = load_up_to(x + i, left < kLanes ? static_cast<int>(left) : kLanes);
      bits = either_bits(bits, a);
      add_squares(squares[0], a);
    }
    *is_nonzero++ = has_bits(bits) ? 1 : 0;
  }
  return total(squares[0]) + total(squares[1]);
}

template <class T>
void accumulate_and_zero(float* sum, T* x, int64_t size) {
  for_each_vector(size, [sum, x](int64_t i, int count) {
    const Vec value = load_up_to(x + i, count);
    // Skips zero vectors, so that their memory is not dirtied.
    if (has_bits(value)) {
      store_up_to(sum + i, load_up_to(sum + i, count) + value, count);
      store_up_to(x + i, zero(), count);
    }
  });
}

template <class T>
void embedding_row(EmbeddingRow<T> row) {
  for_each_vector(row.columns, [&](int64_t column, int count) {
    Vec value = load_up_to(row.tables[0] + column, count);
    for (int t = 1; t < 3; ++t) {
      if (row.tables[t] != nullptr) {
        value = value + load_up_to(row.tables[t] + column, count);
      }
    }
    store_up_to(row.out + column, value, count);
  });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
