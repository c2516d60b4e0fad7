// Softmax cross entropy and its gradient in two passes over each row of logits.
#include <cmath>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 512;

/// Sum of exp(x - top) and the maximum (arXiv:1805.02867).
struct Softmax {
  float top;
  float sum;
};

__device__ inline Softmax joined(const Softmax& a, const Softmax& b) {
  const float top = fmaxf(a.top, b.top);
  if (top == -INFINITY) {
    return {top, 0.0F};
  }
  return {top, a.sum * __expf(a.top - top) + b.sum * __expf(b.top - top)};
}

__device__ inline Softmax joined_in_block(Softmax value) {
  __shared__ Softmax parts[kThreads / kWarp];
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = joined(value, {__shfl_xor_sync(kAllLanes, value.top, distance),
                           __shfl_xor_sync(kAllLanes, value.sum, distance)});
  }
  if (threadIdx.x % kWarp == 0) {
    parts[threadIdx.x / kWarp] = value;
  }
  __syncthreads();
  value = parts[0];
  for (int warp = 1; warp < kThreads / kWarp; ++warp) {
    value = joined(value, parts[warp]);
  }
  return value;
}

template <class T>
__device__ inline Vector biased(
    const cpu::CrossEntropyRows<T>& work, const T* row, int64_t column, int count, bool is_wide) {
  auto x = load(row + column, count, is_wide);
  if (work.bias != nullptr) {
    const auto bias = load(work.bias + column, count, is_wide);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      x.at[i] += bias.at[i];
    }
  }
  return x;
}

/// Calls body(column, count) for the vectors of a row that this thread computes.
template <class Body>
__device__ inline void for_each_vector(int64_t columns, const Body& body) {
  for (int64_t column = int64_t{threadIdx.x} * kWidth; column < columns;
       column += int64_t{kThreads} * kWidth) {
    body(column, count_at(column, columns));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) rows_loss(cpu::CrossEntropyRows<T> work, bool is_wide) {
  T* const row = work.logits + blockIdx.x * work.stride;
  const int64_t target = work.targets[blockIdx.x];
  if (target == cpu::kIgnoredTarget) {
    if (threadIdx.x == 0) {
      work.losses[blockIdx.x] = 0.0F;
    }
    if (work.wants_gradient) {
      for_each_vector(work.columns, [&](int64_t column, int count) {
        store(row + column, Vector{}, count, is_wide);
      });
    }
    return;
  }
  const bool is_valid = target >= 0 && target < work.columns;  // else the loss is not a number
  const float chosen = is_valid ? biased(work, row, target, 1, false).at[0] : NAN;
  Softmax own{-INFINITY, 0.0F};
  for_each_vector(work.columns, [&](int64_t column, int count) {
    const auto x = biased(work, row, column, count, is_wide);
    float top = own.top;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      top = i < count ? fmaxf(top, x.at[i]) : top;
    }
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      sum += i < count ? __expf(x.at[i] - top) : 0.0F;
    }
    own = {top, own.sum * __expf(own.top - top) + sum};
  });
  const auto all = joined_in_block(own);  // all threads have read `chosen`
  if (threadIdx.x == 0) {
    work.losses[blockIdx.x] = logf(all.sum) + (all.top - chosen);
  }
  if (!work.wants_gradient) {
    return;
  }
  const float inverse = 1.0F / all.sum;
  for_each_vector(work.columns, [&](int64_t column, int count) {
    auto x = biased(work, row, column, count, is_wide);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      x.at[i] = __expf(x.at[i] - all.top) * inverse - (column + i == target ? 1.0F : 0.0F);
    }
    store(row + column, x, count, is_wide);
  });
}

}  // namespace

template <class T>
void cross_entropy_rows(cpu::CrossEntropyRows<T> work) {
  if (work.rows == 0) {
    return;
  }
  const bool is_wide = work.stride % kWidth == 0 && are_aligned(work.logits, work.bias);
  rows_loss<<<static_cast<unsigned>(work.rows), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      work, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void cross_entropy_rows(cpu::CrossEntropyRows<float>);
template void cross_entropy_rows(cpu::CrossEntropyRows<Bf16>);

}  // namespace weft::kernels::cuda
