// All kernels of one level.
#pragma once

#include "kernels/cpu/activation_kernels.h"
#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/cell_kernels.h"
#include "kernels/cpu/cross_entropy_kernels.h"
#include "kernels/cpu/dropout_kernels.h"
#include "kernels/cpu/edge_kernels.h"
#include "kernels/cpu/few_rows_kernels.h"
#include "kernels/cpu/gated_kernels.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/norm_kernels.h"
#include "kernels/cpu/optimizer_kernels.h"
#include "kernels/cpu/packing_kernels.h"
#include "kernels/cpu/panel_kernels.h"
#include "kernels/cpu/rotary_kernels.h"
#include "kernels/cpu/sum_kernels.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

template <class T>
constexpr Operations<T> operations() {
  return {.dropout = dropout<T>,
          .norm_forward = norm_forward<T>,
          .norm_recompute = norm_recompute<T>,
          .norm_backward = norm_backward<T>,
          .activation_forward = activation_forward<T>,
          .activation_backward = activation_backward<T>,
          .gated_forward = gated_forward<T>,
          .gated_backward = gated_backward<T>,
          .cell_forward = cell_forward<T>,
          .cell_backward = cell_backward<T>,
          .reset_forward = reset_forward<T>,
          .reset_backward = reset_backward<T>,
          .gather_sum = gather_sum<T>,
          .column_sum = column_sum<T>,
          .sum_of_squares = sum_of_squares<T>,
          .accumulate_and_zero = accumulate_and_zero<T>,
          .embedding_row = embedding_row<T>,
          .cross_entropy_rows = cross_entropy_rows<T>,
          .log_sum_exp_rows = log_sum_exp_rows<T>,
          .adamw = adamw<T>,
          .sgd = sgd<T>,
          .rotate = rotate<T>,
          .attention_forward = attention_forward<T>,
          .attention_backward = attention_backward<T>,
          .edge_weights = edge_weights<T>,
          .edge_values = edge_values<T>,
          .edge_values_backward = edge_values_backward<T>,
          .edge_weights_backward = edge_weights_backward<T>,
          .quantize_rows = quantize_rows<T>,
          .int8_product = int8_product<T>,
          .few_rows = few_rows<T>,
          .pack_rows = pack_rows<T, T>,
          .pack_transposed = pack_transposed<T, T>,
          .widen_rows = pack_rows<T, float>,
          .widen_transposed = pack_transposed<T, float>,
          .multiply_panel = multiply_panel<float, T>};
}

template <bool kPairs>
constexpr auto pair_product() -> void (*)(const PanelProduct<Bf16>&, const PanelOutput<Bf16>&) {
  if constexpr (kPairs) {
    return multiply_panel<Pair, Bf16>;
  } else {
    return nullptr;
  }
}

constexpr KernelTable make_table(const char* name) {
  return {.name = name,
          .int8_group = kInt8Group,
          .int8_offset = kInt8Offset,
          .multiply_pairs = pair_product<kMultipliesPairs>(),
          .finish_product = finish_product<Bf16>,
          .single = operations<float>(),
          .half = operations<Bf16>()};
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
