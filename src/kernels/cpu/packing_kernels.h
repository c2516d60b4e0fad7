// Packing and unpacking for blocked products in fp32. Included only by per-level translation units.
#pragma once

#include <algorithm>

#include "kernels/cpu/product_types.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

template <class In, class Out>
inline void pack_rows(const Pack<In, Out>& pack) {
  for (int64_t row = 0; row < pack.out_rows; ++row) {
    const In* const in = pack.in + row * pack.stride;
    Out* const out = pack.out + row * pack.out_columns;
    const int64_t columns = row < pack.rows ? pack.columns : 0;
    for_each_vector(columns, [&](int64_t i, int count) {
      store_up_to(out + i, load_up_to(in + i, count), count);
    });
    std::fill(out + columns, out + pack.out_columns, Out{});
  }
}

/// Loads a square of `pack` starting at a row and a column; zeros outside the matrix.
template <class In, class Out>
inline void load_square(const Pack<In, Out>& pack,
                        int64_t row,
                        int64_t column,
                        Vec (&square)[kLanes]) {
  const int count = static_cast<int>(std::clamp<int64_t>(pack.columns - column, 0, kLanes));
  for (int i = 0; i < kLanes; ++i) {
    square[i] = row + i < pack.rows && count > 0
                    ? load_up_to(pack.in + (row + i) * pack.stride + column, count)
                    : zero();
  }
}

template <class In, class Out>
inline void pack_transposed(const Pack<In, Out>& pack) {
  for (int64_t column = 0; column < pack.out_columns; column += kLanes) {
    const int64_t width = std::min<int64_t>(kLanes, pack.out_columns - column);
    for (int64_t row = 0; row < pack.out_rows; row += kLanes) {
      const int count = static_cast<int>(std::min<int64_t>(kLanes, pack.out_rows - row));
      Vec square[kLanes];
      load_square(pack, row, column, square);
      transpose(square);
      for (int64_t i = 0; i < width; ++i) {
        store_up_to(pack.out + (column + i) * pack.out_rows + row, square[i], count);
      }
    }
  }
}

/// One vector of columns of ProductRows: writes results from sums.
template <class T>
class FinishColumns {
 public:
  [[gnu::always_inline]] FinishColumns(const ProductRows<T>& work, int64_t column, int count)
      : scale_(set(work.scale)),
        bias_(work.bias == nullptr ? zero() : load_up_to(work.bias + column, count)),
        count_(count),
        adds_(work.adds) {}

  [[gnu::always_inline]] void operator()(Vec sums, T* out) const {
    const Vec before = adds_ ? bias_ + load_up_to(out, count_) : bias_;
    store_up_to(out, fma(sums, scale_, before), count_);
  }

 private:
  Vec scale_;
  Vec bias_;
  int count_;
  bool adds_;
};

template <class T>
inline void finish_product(const ProductRows<T>& work) {
  for_each_vector(work.columns, [&](int64_t i, int count) {
    const FinishColumns<T> finish(work, i, count);
    const float* sums = work.sums + i;
    T* out = work.out + i;
    for (int64_t row = 0; row < work.rows; ++row) {
      finish(load_up_to(sums, count), out);
      sums += work.sums_stride;
      out += work.out_stride;
    }
  });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
