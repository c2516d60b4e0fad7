// Random bits and elementwise dropout. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr int64_t kGroupsOfTile = 8;  // of 16 elements each
inline constexpr int kPhiloxRounds = 7;

// Computes the four words of one tile's counters, for the lanes starting at `lane`.
inline void philox_lanes(const DropoutRng& dropout_rng, int64_t tile, uint32_t lane, Int words[4]) {
  const auto index = static_cast<uint64_t>(tile) * 16U;
  Int c0 = add(set_int(static_cast<uint32_t>(index) + lane), lane_numbers());
  Int c1 = set_int(static_cast<uint32_t>(index >> 32U) + dropout_rng.second);
  Int c2 = set_int(dropout_rng.third);
  Int c3 = set_int(0);
  uint32_t key0 = dropout_rng.key[0];
  uint32_t key1 = dropout_rng.key[1];
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Halves a = multiply(c0, 0xD2511F53U);
    const Halves b = multiply(c2, 0xCD9E8D57U);
    c0 = exclusive_or(b.high, c1, set_int(key0));
    c1 = b.low;
    c2 = exclusive_or(a.high, c3, set_int(key1));
    c3 = a.low;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

/// Computes one bit for each of the 128 elements of a tile, set where the element is kept.
inline void keep_tile(const DropoutRng& dropout_rng, int64_t tile, uint16_t bits[kGroupsOfTile]) {
  const Int threshold = set_int(dropout_rng.threshold);
  for (int64_t g = 0; g < kGroupsOfTile; ++g) {
    bits[g] = 0;
  }
  for (unsigned lane = 0; lane < 16; lane += kLanes) {
    Int words[4];
    philox_lanes(dropout_rng, tile, lane, words);
    for (int w = 0; w < 4; ++w) {
      bits[2 * w] = static_cast<uint16_t>(bits[2 * w] | low_at_least(words[w], threshold) << lane);
      bits[2 * w + 1] =
          static_cast<uint16_t>(bits[2 * w + 1] | high_at_least(words[w], threshold) << lane);
    }
  }
}

/// Computes the bits of `count` groups of 16 elements, starting at `first`.
inline void keep_bits(const DropoutRng& dropout_rng, int64_t first, int64_t count, uint16_t* bits) {
  int64_t done = 0;
  while (done < count) {
    const int64_t group = first + done;
    const int64_t within = group % kGroupsOfTile;
    if (within == 0 && count - done >= kGroupsOfTile) {
      keep_tile(dropout_rng, group / kGroupsOfTile, bits + done);
      done += kGroupsOfTile;
      continue;
    }
    uint16_t tile[kGroupsOfTile];
    keep_tile(dropout_rng, group / kGroupsOfTile, tile);
    for (int64_t g = within; g < kGroupsOfTile && done < count; ++g) {
      bits[done++] = tile[g];
    }
  }
}

/// Bits of consecutive groups, generated many at a time.
class BitStream {
 public:
  explicit BitStream(const DropoutRng& dropout_rng) : rng_(dropout_rng) {}

  uint32_t at(int64_t group) {
    if (rng_.threshold == 0) {
      return 0xFFFFU;
    }
    const int64_t offset = group - first_;
    if (offset < 0 || offset >= kBuffered) {
      first_ = group - group % kGroupsOfTile;
      keep_bits(rng_, first_, kBuffered, bits_);
      return bits_[group - first_];
    }
    return bits_[offset];
  }

 private:
  static constexpr int64_t kBuffered = 64;
  const DropoutRng rng_;
  int64_t first_ = -2 * kBuffered;
  uint16_t bits_[kBuffered];
};

// Calls body(column, count, bits) for each vector of one row; count < kLanes in the last one only.
template <class Body>
inline void for_each_vector(int64_t columns, BitStream& stream, int64_t first_group, Body body) {
  for (int64_t column = 0; column < columns; column += 16) {
    const uint32_t bits = stream.at(first_group + column / 16);
    for (int64_t part = 0; part < 16; part += kLanes) {
      const int64_t left = columns - column - part;
      if (left <= 0) {
        break;
      }
      body(column + part, left < kLanes ? static_cast<int>(left) : kLanes,
           bits >> static_cast<unsigned>(part));
    }
  }
}

inline int64_t first_group(const Rows& rows, int64_t row) {
  return (rows.first_row + row) * ((rows.columns + 15) / 16);
}

/// out = scale * x where kept, else 0; plus `residual` if it is not null.
template <class T>
void dropout(
    const Rows& rows, const DropoutRng& dropout_rng, const T* residual, const T* x, T* out) {
  BitStream stream(dropout_rng);
  const Vec scale = set(dropout_rng.scale);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t start = row * rows.columns;
    for_each_vector(rows.columns, stream, first_group(rows, row),
                    [&](int64_t column, int count, uint32_t bits) {
                      Vec value = keep(load_up_to(x + start + column, count), bits) * scale;
                      if (residual != nullptr) {
                        value = value + load_up_to(residual + start + column, count);
                      }
                      store_up_to(out + start + column, value, count);
                    });
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
