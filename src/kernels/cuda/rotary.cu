// Rotary positions (arXiv:2104.09864).
#include "kernels/cuda/operations.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

/// A thread rotates a vector of the first half with that of the second, or copies one that is not
/// rotated.
template <class T>
__global__ void rotate_heads(cpu::RotateRows<T> work, unsigned tiles_of_row, bool is_wide) {
  const int half = static_cast<int>(work.rotary_width) / 2;
  const auto pairs = static_cast<int>(vectors_of(half));
  const int pieces = pairs + static_cast<int>(vectors_of(work.width - work.rotary_width));
  const auto [row, vector] = tile_place(tiles_of_row);
  const int index = static_cast<int>(vector);
  const int head = index / pieces;
  if (row >= work.rows || head >= work.heads) {
    return;
  }
  const int piece = index - head * pieces;
  const T* const x = work.x + row * work.row_stride + head * work.width;
  T* const out = work.out + (row * work.heads + head) * work.width;
  if (piece >= pairs) {
    const int64_t at = 2 * half + (piece - pairs) * kWidth;
    const int count = count_at(at, work.width);
    store(out + at, load(x + at, count, is_wide), count, is_wide);
    return;
  }
  const int at = piece * kWidth;
  const int count = count_at(at, half);
  const float* const angles = work.table + work.positions[row] * work.rotary_width;
  const auto cosine = load(angles + at, count, is_wide);
  const auto sine = load(angles + half + at, count, is_wide);
  auto first = load(x + at, count, is_wide);
  auto second = load(x + half + at, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const float a = first.at[i];
    const float b = second.at[i];
    const float s = sine.at[i] * work.direction;
    first.at[i] = a * cosine.at[i] - b * s;
    second.at[i] = b * cosine.at[i] + a * s;
  }
  store(out + at, first, count, is_wide);
  store(out + half + at, second, count, is_wide);
}

}  // namespace

template <class T>
void rotate(cpu::RotateRows<T> work) {
  const int64_t pieces =
      vectors_of(work.rotary_width / 2) + vectors_of(work.width - work.rotary_width);
  if (work.rows * work.heads * pieces == 0) {
    return;
  }
  const bool is_wide = work.rotary_width / 2 % kWidth == 0 && work.width % kWidth == 0 &&
                       work.row_stride % kWidth == 0 && are_aligned(work.x, work.table, work.out);
  const TileLaunch launch(work.rows, work.heads * pieces);
  rotate_heads<<<launch.blocks, launch.threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      work, launch.tiles_of_row, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void rotate(cpu::RotateRows<float>);
template void rotate(cpu::RotateRows<Bf16>);

}  // namespace weft::kernels::cuda
