// Optimizer steps in one pass over the flat parameter buffer.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

/// The gradient times its scale; zeroes what was read.
template <class T>
__device__ inline Vector consumed(
    T* gradient, int64_t first, int count, float scale, bool is_wide) {
  if (gradient == nullptr) {
    return {};
  }
  auto g = load(gradient + first, count, is_wide);
  store(gradient + first, Vector{}, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    g.at[i] *= scale;
  }
  return g;
}

__device__ inline void store_parameter(
    float* master, Bf16* compute, int64_t first, const Vector& x, int count, bool is_wide) {
  store(master + first, x, count, is_wide);
  if (compute != nullptr) {
    store(compute + first, x, count, is_wide);
  }
}

template <class T>
__global__ void update_adamw(cpu::AdamwSlice<T> slice, bool is_wide) {
  const auto [at, count] = place_of_thread(slice.size);
  const auto g = consumed(slice.gradient, at, count, slice.gradient_scale, is_wide);
  auto first = load(slice.first + at, count, is_wide);
  auto second = load(slice.second + at, count, is_wide);
  auto master = load(slice.master + at, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    first.at[i] = fmaf(slice.beta1, first.at[i], (1.0F - slice.beta1) * g.at[i]);
    second.at[i] = fmaf(slice.beta2, second.at[i], (1.0F - slice.beta2) * g.at[i] * g.at[i]);
    const float denominator = fmaf(sqrtf(second.at[i]), slice.second_correction, slice.epsilon);
    master.at[i] = master.at[i] * slice.decay - slice.step_size * first.at[i] / denominator;
  }
  store(slice.first + at, first, count, is_wide);
  store(slice.second + at, second, count, is_wide);
  store_parameter(slice.master, slice.compute, at, master, count, is_wide);
}

template <class T>
__global__ void update_sgd(cpu::SgdSlice<T> slice, bool is_wide) {
  const auto [at, count] = place_of_thread(slice.size);
  auto direction = consumed(slice.gradient, at, count, slice.gradient_scale, is_wide);
  auto master = load(slice.master + at, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    direction.at[i] = fmaf(master.at[i], slice.weight_decay, direction.at[i]);
  }
  if (slice.first != nullptr) {
    const auto first = load(slice.first + at, count, is_wide);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      direction.at[i] = fmaf(first.at[i], slice.momentum, direction.at[i]);
    }
    store(slice.first + at, direction, count, is_wide);
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    master.at[i] -= slice.lr * direction.at[i];
  }
  store_parameter(slice.master, slice.compute, at, master, count, is_wide);
}

template <class T>
__global__ void add_and_zero(float* sum, T* x, int64_t size, bool is_wide) {
  const auto [at, count] = place_of_thread(size);
  auto total = load(sum + at, count, is_wide);
  const auto added = consumed(x, at, count, 1.0F, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    total.at[i] += added.at[i];
  }
  store(sum + at, total, count, is_wide);
}

}  // namespace

template <class T>
void adamw(cpu::AdamwSlice<T> slice) {
  if (slice.size == 0) {
    return;
  }
  const bool is_wide =
      are_aligned(slice.master, slice.compute, slice.gradient, slice.first, slice.second);
  update_adamw<<<flat_blocks(slice.size), kFlatThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      slice, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void sgd(cpu::SgdSlice<T> slice) {
  if (slice.size == 0) {
    return;
  }
  const bool is_wide = are_aligned(slice.master, slice.compute, slice.gradient, slice.first);
  update_sgd<<<flat_blocks(slice.size), kFlatThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      slice, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void accumulate_and_zero(float* sum, T* x, int64_t size) {
  if (size == 0) {
    return;
  }
  add_and_zero<<<flat_blocks(size), kFlatThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      sum, x, size, are_aligned(sum, x));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void adamw(cpu::AdamwSlice<float>);
template void adamw(cpu::AdamwSlice<Bf16>);
template void sgd(cpu::SgdSlice<float>);
template void sgd(cpu::SgdSlice<Bf16>);
template void accumulate_and_zero(float*, float*, int64_t);
template void accumulate_and_zero(float*, Bf16*, int64_t);

}  // namespace weft::kernels::cuda
