// Random bits of dropout: the same as on the CPU (see random_bits.h). Included only by the sources
// that nvcc compiles.
#pragma once

#include "kernels/cpu/types.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {

inline constexpr int kGroup = 16;        // elements per group
inline constexpr int kGroupsOfTile = 8;  // of which each uses 16 bits of the tile's counters
inline constexpr int kVectorsOfTile = kGroup * kGroupsOfTile / kWidth;
inline constexpr int kPhiloxRounds = 7;

struct Words {
  uint32_t at[4];
};

/// Philox4x32 (Salmon et al., SC 2011) of the counter of one lane of a tile.
__device__ inline Words philox(const cpu::DropoutRng& rng, int64_t tile, uint32_t lane) {
  const auto index = static_cast<uint64_t>(tile) * kGroup;
  uint32_t c0 = static_cast<uint32_t>(index) + lane;
  uint32_t c1 = static_cast<uint32_t>(index >> 32U) + rng.second;
  uint32_t c2 = rng.third;
  uint32_t c3 = 0;
  uint32_t key0 = rng.key[0];
  uint32_t key1 = rng.key[1];
#pragma unroll
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint32_t high0 = __umulhi(c0, 0xD2511F53U);
    const uint32_t low0 = c0 * 0xD2511F53U;
    const uint32_t high2 = __umulhi(c2, 0xCD9E8D57U);
    const uint32_t low2 = c2 * 0xCD9E8D57U;
    c0 = high2 ^ c1 ^ key0;
    c1 = low2;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

__device__ inline bool is_kept(const Words& words, int group, uint32_t threshold) {
  return ((words.at[group / 2] >> (group % 2 * 16)) & 0xFFFFU) >= threshold;
}

/// Groups of a row. Rows start with a tile if their number is a multiple of kGroupsOfTile.
__host__ __device__ inline int64_t groups_of(const cpu::Rows& rows) {
  return (rows.columns + kGroup - 1) / kGroup;
}

/// One bit for each element of vector `vector` of a row that starts with a tile, set where it is
/// kept. All lanes of a warp call it for consecutive vectors, the first a multiple of 32: each
/// computes one counter, which has bits for one element of each group.
__device__ inline unsigned kept_bits(const cpu::DropoutRng& rng,
                                     const cpu::Rows& rows,
                                     int64_t row,
                                     int64_t vector) {
  if (rng.threshold == 0) {
    return 0xFFU;
  }
  const int64_t tile =
      (rows.first_row + row) * groups_of(rows) / kGroupsOfTile + vector / kVectorsOfTile;
  const unsigned lane = threadIdx.x % kWarp;
  const auto words = philox(rng, tile, lane % kGroup);
  unsigned own = 0;
#pragma unroll
  for (int group = 0; group < kGroupsOfTile; ++group) {
    const unsigned kept = __ballot_sync(kAllLanes, is_kept(words, group, rng.threshold));
    own = group == static_cast<int>(lane % kGroup / 2) ? kept : own;
  }
  return (own >> (lane / kGroup * kGroup + lane % 2 * kWidth)) & 0xFFU;
}

/// The same for any row: the counters of all elements are computed.
__device__ inline unsigned kept_bits_within_tiles(const cpu::DropoutRng& rng,
                                                  const cpu::Rows& rows,
                                                  int64_t row,
                                                  int64_t vector) {
  const int64_t group = (rows.first_row + row) * groups_of(rows) + vector / 2;
  unsigned bits = 0;
  for (unsigned i = 0; i < kWidth; ++i) {
    const auto words =
        philox(rng, group / kGroupsOfTile, static_cast<unsigned>(vector % 2) * kWidth + i);
    bits |= static_cast<unsigned>(is_kept(words, group % kGroupsOfTile, rng.threshold)) << i;
  }
  return bits;
}

__device__ inline Vector dropped(const Vector& x, unsigned bits, float scale) {
  Vector result;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    result.at[i] = (bits >> static_cast<unsigned>(i) & 1U) != 0 ? x.at[i] * scale : 0.0F;
  }
  return result;
}

}  // namespace weft::kernels::cuda
