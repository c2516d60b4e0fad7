#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/activation_kind.h"
#include "kernels/cpu/types.h"

/// Vector code of this room, compiled once per level of the processor from one source, without
/// LibTorch. The functions work on what they are given in one thread; those who call them cut the
/// work into pieces that do not depend on the number of threads.
namespace weft::kernels::cpu {

template <class T>
struct Operations {
  /// out = residual (or 0) + dropout(x).
  void (*dropout)(const Rows& rows, const Draws& draws, const T* residual, const T* x, T* out);
  void (*norm_forward)(NormForward<T> norm);
  /// `out` of the branch once more, by its `mean` and `rstd`; nothing else is read or written.
  void (*norm_again)(NormForward<T> norm);
  void (*norm_backward)(NormBackward<T> norm);
  void (*activation_forward)(Activation activation, ActivationRows<T> work);
  void (*activation_backward)(Activation activation, ActivationRows<T> work);
  void (*gated_forward)(Activation activation, ActivationRows<T> work);
  void (*gated_backward)(Activation activation, ActivationRows<T> work);
  void (*gather_sum)(const GatherSum<T>& gather);
  void (*column_sum)(const T* x, int64_t rows, int64_t columns, float* wide);
  /// And a mark per block: is any element of it not +0?
  double (*sum_of_squares)(const T* x, int64_t size, uint8_t* is_live);
  /// sum += x, x = 0.
  void (*move_into)(float* sum, T* x, int64_t size);
  void (*embedding_row)(EmbeddingRow<T> row);
  void (*cross_entropy_rows)(CrossEntropyRows<T> work);
  void (*adamw)(AdamwSlice<T> slice);
  void (*sgd)(SgdSlice<T> slice);
  void (*attention_forward)(const AttentionTask<T>& task);
  void (*attention_backward)(const AttentionTask<T>& task);
  void (*quantize_rows)(const QuantizeRows<T>& work);
  void (*scale_sums)(const ScaleSums<T>& work);
};

struct Table {
  const char* name;
  void (*few_rows)(const FewRows& work);
  void (*pack_rows)(const Pack<float>& pack);        // (rows, columns) as it is
  void (*pack_transposed)(const Pack<float>& pack);  // (columns, rows)
  void (*finish_product)(const ProductRows<float>& rows);
  void (*multiply_panel)(const PanelProduct& product);  // null: not at this level
  Operations<float> single;
  Operations<Bf16> half;
};

/// The best level that this processor has, or the best of those up to the one that WEFT_CPU_LEVEL
/// (plain, avx2, avx512, avx512_bf16) names.
const Table& table();

/// Lets `table` give the level of that name from now on; false, and nothing happens, where the
/// processor or this build lacks it.
bool use_level(std::string_view name);

template <class T>
const Operations<T>& operations_of(const Table& levels);
template <>
inline const Operations<float>& operations_of<float>(const Table& levels) {
  return levels.single;
}
template <>
inline const Operations<Bf16>& operations_of<Bf16>(const Table& levels) {
  return levels.half;
}

}  // namespace weft::kernels::cpu
