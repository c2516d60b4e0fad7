#pragma once

#include "kernels/cpu/types.h"
#include "kernels/cuda/kernel_table.h"

/// The kernels' entry points, for float and cpu::Bf16; see cpu::Operations. Compiled by nvcc.
namespace weft::kernels::cuda {

template <class T>
void dropout(const cpu::Rows& rows,
             const cpu::DropoutRng& dropout_rng,
             const T* residual,
             const T* x,
             T* out);
template <class T>
void norm_forward(cpu::NormForward<T> norm);
template <class T>
void norm_backward(cpu::NormBackward<T> norm);
template <class T>
void activation_forward(Activation activation, cpu::ActivationRows<T> work);
template <class T>
void activation_backward(Activation activation, cpu::ActivationRows<T> work);
template <class T>
void gated_forward(Activation activation, cpu::ActivationRows<T> work);
template <class T>
void gated_backward(Activation activation, cpu::ActivationRows<T> work);
/// One row of sums for each kSumRows rows.
template <class T>
void column_sum(const T* x, int64_t rows, int64_t columns, float* sums);
template <class T>
void accumulate_and_zero(float* sum, T* x, int64_t size);
template <class T>
void cross_entropy_rows(cpu::CrossEntropyRows<T> work);
template <class T>
void adamw(cpu::AdamwSlice<T> slice);
template <class T>
void sgd(cpu::SgdSlice<T> slice);
template <class T>
void rotate(cpu::RotateRows<T> work);

}  // namespace weft::kernels::cuda
