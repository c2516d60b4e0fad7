// Products of rows and a packed panel, whose sums are stored straight from registers. Included only
// by per-level translation units. Handwritten: LibTorch's block product has the same bits in fp32
// but leaves the sums in memory, which needs another pass; without that it is 2 to 20 % slower.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cpu/packing_kernels.h"
#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/product_types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

/// Number of terms that are added before their sum is added to that of the terms before them.
template <class Term>
inline constexpr int64_t kPartTerms = kSumDepth;
template <>
inline constexpr int64_t kPartTerms<Pair> = std::numeric_limits<int64_t>::max();

/// Adds the sums of the terms before, if `adds`; then another epilogue.
template <class Next>
struct AddSums {
  bool adds;
  Next next;

  template <class Term, int kRows, int kVectors>
  [[gnu::always_inline]] void operator()(const Product<Term>& product,
                                         int64_t row,
                                         int64_t column,
                                         Vec (&total)[kRows][kVectors]) const {
    if (adds) {
      const float* const sums = product.c + row * product.c_stride + column;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          total[r][v] = load(sums + r * product.c_stride + v * kLanes) + total[r][v];
        }
      }
    }
    next(product, row, column, total);
  }
};

/// Applies ProductRows to the sums.
template <class T>
struct StoreRows {
  const ProductRows<T>& out;

  template <class Term, int kRows, int kVectors>
  [[gnu::always_inline]] void operator()(const Product<Term>& /*product*/,
                                         int64_t row,
                                         int64_t column,
                                         Vec (&total)[kRows][kVectors]) const {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t from = column + v * kLanes;
      const int count = static_cast<int>(std::min<int64_t>(out.columns - from, kLanes));
      if (count <= 0) {
        return;
      }
      const FinishColumns<T> finish(out, from, count);
      T* to = out.out + row * out.out_stride + from;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        finish(total[r][v], to);
        to += out.out_stride;
      }
    }
  }
};

template <class Term, class T>
void multiply_panel(const PanelProduct<Element<Term>>& panel, const PanelOutput<T>& out) {
  const int64_t depth = panel.depth / kDepth<Term>;
  int64_t terms = 0;
  for (int64_t begin = 0; begin < depth; begin += terms) {
    terms = std::min(kPartTerms<Term>, depth - begin);
    const Product<Term> product{.rows = panel.rows,
                                .columns = panel.width,
                                .depth = terms,
                                .a = reinterpret_cast<const Term*>(panel.a) + begin * panel.a_depth,
                                .a_row = panel.a_row / kDepth<Term>,
                                .a_depth = panel.a_depth,
                                .b = reinterpret_cast<const Term*>(panel.b) + begin * panel.width,
                                .b_stride = panel.width,
                                .c = panel.sums,
                                .c_stride = kPanelColumns};
    const bool adds = panel.adds_to_sums || begin > 0;
    if (out && begin + terms == depth) {
      multiply(product, AddSums<StoreRows<T>>{adds, {*out}});
    } else {
      multiply(product, AddSums<StoreSums>{adds, {}});
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
