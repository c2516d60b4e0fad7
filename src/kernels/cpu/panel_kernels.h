// Products of bf16 rows and a packed panel, whose sums are stored as bf16 straight from registers,
// for processors that multiply bf16 pairs but lack AMX tiles. Included only by per-level
// translation units. Handwritten: LibTorch's block product leaves its sums in memory, which needs
// another pass (3 % of a step).
#pragma once

#include <algorithm>

#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/product_types.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

/// Applies ProductRows to the sums.
struct StoreEpilogue {
  const ProductRows<Bf16>& out;

  template <class Term, int kRows, int kVectors>
  [[gnu::always_inline]] void operator()(const Product<Term>& /*product*/,
                                         int64_t row,
                                         int64_t /*column*/,
                                         Vec (&total)[kRows][kVectors]) const {
    constexpr int kLast = kVectors - 1;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; v += 2) {
      const int second = v < kLast ? v + 1 : v;
      const int64_t left = out.columns - v * kLanes;
      if (left <= 0) {
        return;
      }
      const int count = static_cast<int>(std::min<int64_t>(left, kLanes));
      const int rest = static_cast<int>(std::clamp<int64_t>(left - kLanes, 0, kLanes));
      const Vec scale = set(out.scale);
      const Vec bias[2] = {bias_of(v, count), bias_of(v + 1, rest)};
      Element<Term>* to = out.out + row * out.out_stride + v * kLanes;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        Vec y[2] = {fma(total[r][v], scale, bias[0]), fma(total[r][second], scale, bias[1])};
        if (out.adds) {
          y[0] = y[0] + load_up_to(to, count);
          y[1] = y[1] + load_up_to(to + kLanes, rest);
        }
        if (rest == kLanes) {
          store(to, y[0], y[1]);
        } else {
          store_up_to(to, y[0], count);
          store_up_to(to + kLanes, y[1], rest);
        }
        to += out.out_stride;
      }
    }
  }

  Vec bias_of(int vector, int count) const {
    return out.bias == nullptr ? zero() : load_up_to(out.bias + vector * kLanes, count);
  }
};

template <class Term>
void multiply_panel(const PanelProduct& panel) {
  const Product<Term> product{.rows = panel.rows,
                              .columns = panel.width,
                              .depth = panel.depth / 2,
                              .a = reinterpret_cast<const Term*>(panel.a),
                              .a_row = panel.a_stride / 2,
                              .a_depth = 1,
                              .b = reinterpret_cast<const Term*>(panel.b),
                              .b_stride = panel.width,
                              .c = panel.sums,
                              .c_stride = kPanelColumns,
                              .adds = panel.adds_to_sums};
  panel.out ? multiply(product, StoreEpilogue{*panel.out}) : multiply(product);
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
