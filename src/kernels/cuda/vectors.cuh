// Eight elements at a time, and sums over warps. Included only by the sources that nvcc compiles.
#pragma once

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include "kernels/cpu/types.h"

namespace weft::kernels::cuda {

using cpu::Bf16;

inline constexpr int kWidth = 8;  // elements per vector: 16 bytes of bf16
inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

struct Vector {
  float at[kWidth];
};

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(Bf16 x) {
  return __uint_as_float(static_cast<uint32_t>(x.bits) << 16U);
}

template <class T>
__device__ inline T rounded(float x);
template <>
__device__ inline float rounded<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 rounded<Bf16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

template <class T>
struct alignas(16) Packet {
  T at[kWidth];
};

/// Elements of a vector at `column` that are within the row.
__device__ inline int count_at(int64_t column, int64_t columns) {
  return static_cast<int>(max(int64_t{0}, min(int64_t{kWidth}, columns - column)));
}

/// The first `count` elements at p, then zeros. is_wide: p is aligned to 16 bytes.
template <class T>
__device__ inline Packet<T> load_packet(const T* p, int count, bool is_wide) {
  if (is_wide && count == kWidth) {
    return *reinterpret_cast<const Packet<T>*>(p);
  }
  Packet<T> result{};
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    if (i < count) {
      result.at[i] = p[i];
    }
  }
  return result;
}

template <class T>
__device__ inline Vector widened(const Packet<T>& packet) {
  Vector result;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    result.at[i] = widened(packet.at[i]);
  }
  return result;
}

template <class T>
__device__ inline Vector load(const T* p, int count, bool is_wide) {
  return widened(load_packet(p, count, is_wide));
}

/// Writes words of 16 bytes: the compiler would otherwise write element by element, as below.
template <class T>
__device__ inline void store(T* p, const Vector& x, int count, bool is_wide) {
  Packet<T> packet;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    packet.at[i] = rounded<T>(x.at[i]);
  }
  if (is_wide && count == kWidth) {
    constexpr int kWords = sizeof(packet) / sizeof(uint4);
    uint4 words[kWords];
    memcpy(words, &packet, sizeof(packet));
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      __stwb(reinterpret_cast<uint4*>(p) + i, words[i]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    if (i < count) {
      p[i] = packet.at[i];
    }
  }
}

/// The value that storing and loading x gives.
template <class T>
__device__ inline float as_stored(float x) {
  return widened(rounded<T>(x));
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, distance);
  }
  return x;
}

/// Whether all pointers are null or aligned to 16 bytes.
template <class... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// Kernels over a flat tensor: each thread computes a vector.
inline constexpr int kFlatThreads = 256;  // of a block

inline unsigned flat_blocks(int64_t size) {
  return blocks_for(size, int64_t{kFlatThreads} * kWidth);
}

/// Vector of a flat tensor that this thread computes: its first element, and its elements.
struct Place {
  int64_t first;
  int count;
};

__device__ inline Place place_of_thread(int64_t size) {
  const int64_t first = (int64_t{blockIdx.x} * kFlatThreads + threadIdx.x) * kWidth;
  return {first, count_at(first, size)};
}

/// Blocks of 32 vectors times kRowsOfTile rows, in the order of the rows, so that memory is read in
/// its order.
inline constexpr int kRowsOfTile = 8;

struct TilePlace {
  int64_t row;
  int64_t vector;  // of the row
};

__device__ inline TilePlace tile_place(unsigned tiles_of_row) {
  const unsigned row = blockIdx.x / tiles_of_row;
  const unsigned tile = blockIdx.x - row * tiles_of_row;
  return {int64_t{row} * kRowsOfTile + threadIdx.y, int64_t{tile} * kWarp + threadIdx.x};
}

/// A launch of all tiles of `rows` rows of `vectors` vectors.
struct TileLaunch {
  TileLaunch(int64_t rows, int64_t vectors)
      : tiles_of_row(blocks_for(vectors, kWarp)),
        blocks(blocks_for(rows, kRowsOfTile) * tiles_of_row) {}
  dim3 threads{kWarp, kRowsOfTile};
  unsigned tiles_of_row;
  unsigned blocks;
};

__host__ __device__ inline int64_t vectors_of(int64_t columns) {
  return (columns + kWidth - 1) / kWidth;
}

}  // namespace weft::kernels::cuda
