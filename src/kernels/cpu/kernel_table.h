#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/product_types.h"

/// Vectorised kernels, compiled from one source once per CPU level, without LibTorch. The functions
/// run in one thread; callers split the work into pieces that do not depend on the number of
/// threads.
namespace weft::kernels::cpu {

template <class T>
struct Operations {
  /// out = residual (or 0) + dropout(x).
  void (*dropout)(
      const Rows& rows, const DropoutRng& dropout_rng, const T* residual, const T* x, T* out);
  void (*norm_forward)(NormForward<T> norm);
  /// Recomputes `out` of the branch from its `mean` and `rstd`; does nothing else.
  void (*norm_recompute)(NormForward<T> norm);
  void (*norm_backward)(NormBackward<T> norm);
  void (*activation_forward)(Activation activation, ActivationRows<T> work);
  void (*activation_backward)(Activation activation, ActivationRows<T> work);
  void (*gated_forward)(Activation activation, ActivationRows<T> work);
  void (*gated_backward)(Activation activation, ActivationRows<T> work);
  void (*cell_forward)(const CellForward<T>& step);
  void (*cell_backward)(const CellBackward<T>& step);
  /// The half in front of the product with the reset state.
  void (*reset_forward)(const CellForward<T>& step);
  void (*reset_backward)(const CellBackward<T>& step);
  void (*gather_sum)(const GatherSum<T>& gather);
  void (*column_sum)(const T* x, int64_t rows, int64_t columns, float* sum_fp32);
  /// Also writes one mark per block: whether any element of it is not +0.
  double (*sum_of_squares)(const T* x, int64_t size, uint8_t* is_nonzero);
  /// sum += x, x = 0.
  void (*accumulate_and_zero)(float* sum, T* x, int64_t size);
  void (*embedding_row)(EmbeddingRow<T> row);
  void (*cross_entropy_rows)(CrossEntropyRows<T> work);
  /// out[i] = ln of the sum of exp(x) over row i of x (rows, columns).
  void (*log_sum_exp_rows)(const T* x, int64_t rows, int64_t columns, float* out);
  void (*adamw)(AdamwSlice<T> slice);
  void (*sgd)(SgdSlice<T> slice);
  void (*rotate)(RotateRows<T> work);
  void (*attention_forward)(const AttentionTask<T>& task);
  void (*attention_backward)(const AttentionTask<T>& task);
  /// Weights, and the output of the weights after dropout.
  void (*edge_weights)(const EdgeAttention<T>& work);
  void (*edge_values)(const EdgeAttention<T>& work);
  /// Gradients of the values and of the weights after dropout; then, of those of the weights, the
  /// gradients of queries, keys and vectors.
  void (*edge_values_backward)(const EdgeAttention<T>& work);
  void (*edge_weights_backward)(const EdgeAttention<T>& work);
  void (*quantize_rows)(const QuantizeRows<T>& work);
  void (*int8_product)(const Int8Product<T>& work);
  void (*few_rows)(const FewRows<T>& work);
  void (*pack_rows)(const Pack<T>& pack);        // (rows, columns), order kept
  void (*pack_transposed)(const Pack<T>& pack);  // (columns, rows)
  /// The same, from T to fp32.
  void (*widen_rows)(const Pack<T, float>& pack);
  void (*widen_transposed)(const Pack<T, float>& pack);
  /// Rows of fp32, or of T that were widened.
  void (*multiply_panel)(const PanelProduct<float>& product, const PanelOutput<T>& out);
};

struct KernelTable {
  const char* name;
  int64_t int8_group;   // values of a row in a 32-bit word of Int8Product
  int32_t int8_offset;  // added to each of them
  /// Null if there are no instructions for it at this level.
  void (*multiply_pairs)(const PanelProduct<Bf16>& product, const PanelOutput<Bf16>& out);
  void (*finish_product)(const ProductRows<Bf16>& rows);
  Operations<float> single;
  Operations<Bf16> half;
};

/// Level requested by the environment: WEFT_CPU_LEVEL (plain, avx2, avx512, avx512_vnni,
/// avx512_bf16), else the equivalent of LibTorch's ATEN_CPU_CAPABILITY, so that one switch controls
/// both; empty if neither limits it.
std::string_view requested_level();

/// What decides the level.
struct Processor {
  bool has_avx2 = false;    // with FMA
  bool has_avx512 = false;  // F, BW, DQ and VL
  bool has_vnni = false;    // AVX512_VNNI
  bool has_bf16 = false;    // AVX512_BF16
  bool has_amx = false;     // tiles of bf16
  bool is_intel = false;
};

/// Fastest level of a processor, or its best up to the one named `limit`. Intel's bf16 instructions
/// are slower than fp32 without AMX: there avx512_bf16 must be named.
std::string_view fastest_level(const Processor& processor, std::string_view limit);

/// The fastest level of this processor up to the requested one.
const KernelTable& kernel_table();

/// Whether the processor has AVX2, and AMX tiles for bf16, whatever level is used.
bool has_avx2();
bool has_amx();

/// Makes kernel_table() return the level of that name from now on. Returns false, with no effect,
/// if the processor or this build does not support it.
bool use_level(std::string_view name);

template <class T>
const Operations<T>& operations_of(const KernelTable& levels);
template <>
inline const Operations<float>& operations_of<float>(const KernelTable& levels) {
  return levels.single;
}
template <>
inline const Operations<Bf16>& operations_of<Bf16>(const KernelTable& levels) {
  return levels.half;
}

}  // namespace weft::kernels::cpu
