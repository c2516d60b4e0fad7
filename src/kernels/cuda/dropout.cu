// Dropout with the CPU's masks, alone or added to a residual.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

/// A warp computes 32 vectors of a row.
template <class T>
__global__ void drop(cpu::Rows rows,
                     cpu::DropoutRng rng,
                     const T* residual,
                     const T* x,
                     T* out,
                     unsigned tiles_of_row,
                     bool is_wide) {
  const auto [offset, vector] = tile_place(tiles_of_row);
  const int64_t row = rows.begin + offset;
  if (row >= rows.end) {
    return;
  }
  const int64_t column = vector * kWidth;
  const int64_t start = row * rows.columns + column;
  const int count = count_at(column, rows.columns);
  const unsigned bits = groups_of(rows) % kGroupsOfTile == 0
                            ? kept_bits(rng, rows, row, vector)
                            : kept_bits_within_tiles(rng, rows, row, vector);
  auto value = dropped(load(x + start, count, is_wide), bits, rng.scale);
  if (residual != nullptr) {
    const auto added = load(residual + start, count, is_wide);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      value.at[i] += added.at[i];
    }
  }
  store(out + start, value, count, is_wide);
}

}  // namespace

template <class T>
void dropout(const cpu::Rows& rows,
             const cpu::DropoutRng& dropout_rng,
             const T* residual,
             const T* x,
             T* out) {
  const int64_t count = rows.end - rows.begin;
  if (count == 0 || rows.columns == 0) {
    return;
  }
  const bool is_wide = rows.columns % kWidth == 0 && are_aligned(residual, x, out);
  const TileLaunch launch(count, vectors_of(rows.columns));
  drop<<<launch.blocks, launch.threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      rows, dropout_rng, residual, x, out, launch.tiles_of_row, is_wide);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void dropout(const cpu::Rows&, const cpu::DropoutRng&, const float*, const float*, float*);
template void dropout(const cpu::Rows&, const cpu::DropoutRng&, const Bf16*, const Bf16*, Bf16*);

}  // namespace weft::kernels::cuda
