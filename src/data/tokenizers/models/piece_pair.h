#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::data {

/// Two neighbouring pieces of a word, by their ids: what trainers of vocabularies count and merge.
using PiecePair = std::pair<int32_t, int32_t>;

inline uint64_t key_of(int32_t left, int32_t right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

struct PiecePairHash {
  std::size_t operator()(const PiecePair& pair) const {
    const uint64_t key = key_of(pair.first, pair.second);
    return (key ^ (key >> 29)) * 0x9E3779B97F4A7C15U;
  }
};

/// The order in which trainers try pairs: the commonest first, of equal ones the lower ids.
struct PairCandidate {
  int64_t count = 0;
  PiecePair pair;

  bool operator<(const PairCandidate& other) const {
    return count != other.count ? count < other.count : other.pair < pair;
  }
};

}  // namespace weft::data
