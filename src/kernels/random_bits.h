#pragma once

#include <cstdint>

namespace weft::kernels {

/// Key of one dropout call: each element's random bits are a pure function of (seed, step, site)
/// and of the element's position in the whole step: row `first_row + i` of the packed tokens, or
/// sequence `first_sequence + b`. So splitting a step into micro-batches does not change the bits.
/// On GPUs, attention weights use the generator of the device (flash_attention.h).
struct RngKey {
  uint64_t seed = 0;
  uint64_t step = 0;
  uint32_t site = 0;  // which dropout of the model
  int64_t first_row = 0;
  int64_t first_sequence = 0;
};

/// Philox key and dropout threshold. An element is dropped if its 16 random bits are below
/// `threshold`, so the probability is a multiple of 2^-16; `scale` matches this rounded
/// probability, not the requested one.
///
/// Location of the 16 bits of element e (a 64-bit flat index): elements are grouped in tiles of
/// 128. Tile t uses the 16 counters t * 16 + lane. Element e uses word (e % 128) / 32 of the
/// counter with lane e % 16: its low half if (e % 128) / 16 is even, else its high half. So a
/// vector of 16 counters yields the bits of 128 consecutive elements without any reordering.
struct DropoutRule {
  uint32_t key[2] = {0, 0};
  uint32_t threshold = 0;  // 0 .. 65535; 0 drops nothing
  float scale = 1;
};

/// Rule of one dropout. Elements are numbered row by row, each row padded to a multiple of 16.
DropoutRule dropout_rule(double p, const RngKey& rng_key);

/// Same for attention weights; their random bits never overlap with those of `dropout_rule`.
DropoutRule attention_dropout_rule(double p, const RngKey& rng_key);

inline constexpr int kDropoutRounds = 7;  // of Philox; the fewest that pass BigCrush
inline constexpr int64_t kDropoutGroup = 16;
inline constexpr int64_t kDropoutTile = 128;

/// Padded row width in elements, as used for numbering the random bits.
inline int64_t dropout_row_stride(int64_t columns) {
  return (columns + kDropoutGroup - 1) / kDropoutGroup * kDropoutGroup;
}

}  // namespace weft::kernels
