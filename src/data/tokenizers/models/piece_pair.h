#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::data {

/// Ids of two adjacent pieces of a word: counted and merged by the vocabulary trainers.
using PiecePair = std::pair<int32_t, int32_t>;

inline uint64_t pair_key(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

struct PiecePairHash {
  std::size_t operator()(const PiecePair& pair) const {
    const uint64_t key = pair_key(pair.first, pair.second);
    return (key ^ (key >> 29)) * 0x9E3779B97F4A7C15U;
  }
};

/// Order in which trainers try pairs: highest count first, lower ids on ties.
struct PairCandidate {
  int64_t count = 0;
  PiecePair pair;

  bool operator<(const PairCandidate& other) const {
    return count != other.count ? count < other.count : other.pair < pair;
  }
};

}  // namespace weft::data
