// Sums of the columns of a matrix.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kTurns = 16;  // rows that a block reads at once

template <class T>
__global__ void sum_rows(const T* x, int64_t rows, int64_t columns, float* sums, bool is_wide) {
  __shared__ Vector parts[kTurns][kWarp];
  const int64_t column = (int64_t{blockIdx.y} * kWarp + threadIdx.x) * kWidth;
  const int count = count_at(column, columns);
  const int64_t first = int64_t{blockIdx.x} * kSumRows;
  const int64_t last = min(rows, first + kSumRows);
  Vector total{};
  for (int64_t row = first + threadIdx.y; row < last; row += kTurns) {
    const auto added = load(x + row * columns + column, count, is_wide);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      total.at[i] += added.at[i];
    }
  }
  parts[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0) {
    return;
  }
  for (int turn = 1; turn < kTurns; ++turn) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      total.at[i] += parts[turn][threadIdx.x].at[i];
    }
  }
  store(sums + int64_t{blockIdx.x} * columns + column, total, count, is_wide);
}

}  // namespace

template <class T>
void column_sum(const T* x, int64_t rows, int64_t columns, float* sums) {
  if (rows == 0 || columns == 0) {
    return;
  }
  // Blocks of rows in x: only that dimension of a grid may be larger than 65,535.
  const dim3 blocks(blocks_for(rows, kSumRows), blocks_for(columns, int64_t{kWarp} * kWidth));
  const bool is_wide = columns % kWidth == 0 && are_aligned(x, sums);
  sum_rows<<<blocks, dim3(kWarp, kTurns), 0, c10::cuda::getCurrentCUDAStream()>>>(x, rows, columns,
                                                                                  sums, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void column_sum(const float*, int64_t, int64_t, float*);
template void column_sum(const Bf16*, int64_t, int64_t, float*);

}  // namespace weft::kernels::cuda
