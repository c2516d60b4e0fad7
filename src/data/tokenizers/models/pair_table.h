#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/tokenizers/models/piece_pair.h"

namespace weft::data {

/// What two pieces side by side become, and how early that was learnt.
struct Merge {
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
  int32_t rank = kNever;
  int32_t id = 0;
};

/// Merges by their two sides; open addressing, as every word that is not remembered asks for many.
class PairTable {
 public:
  PairTable() : slots_(64) {}

  /// The last one of a pair counts.
  void put(int32_t left, int32_t right, Merge merge) {
    if (2 * (count_ + 1) > slots_.size()) {
      grow();
    }
    const uint64_t key = key_of(left, right);
    Slot& slot = slots_[place_of(key)];
    count_ += slot.key == kFree ? 1 : 0;
    slot = {key, merge};
  }

  /// Rank kNever where the pair makes nothing.
  Merge find(int32_t left, int32_t right) const {
    return slots_[place_of(key_of(left, right))].merge;
  }

  /// visit(left, right, merge) for each pair, in no order.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kFree) {
        visit(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
      }
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};  // the pair of -1 and -1, which no piece is
  struct Slot {
    uint64_t key = kFree;
    Merge merge = {};
  };

  std::size_t place_of(uint64_t key) const {
    std::size_t at = ((key * 0x9E3779B97F4A7C15U) >> 24) & (slots_.size() - 1);
    while (slots_[at].key != kFree && slots_[at].key != key) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.key != kFree) {
        slots_[place_of(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace weft::data
