#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "data/tokenizers/models/piece_pair.h"

namespace weft::data {

/// Result of merging two adjacent pieces, and the rank of the merge.
struct Merge {
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
  int32_t rank = kNever;
  int32_t id = 0;
};

/// Merges by their two sides; open addressing, since every uncached word needs many lookups.
class PairTable {
 public:
  PairTable() : slots_(64) {}

  /// Later entries of a pair replace earlier ones.
  void put(int32_t left, int32_t right, Merge merge) {
    if (2 * (count_ + 1) > slots_.size()) {
      grow();
    }
    const uint64_t key = pair_key(left, right);
    Slot& slot = slots_[slot_of(key)];
    count_ += slot.key == kFree ? 1 : 0;
    slot = {key, merge};
  }

  /// Rank kNever if the pair has no merge.
  Merge find(int32_t left, int32_t right) const {
    return slots_[slot_of(pair_key(left, right))].merge;
  }

  /// Calls visit(left, right, merge) for each pair, in no particular order.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kFree) {
        visit(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
      }
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};  // the pair (-1, -1), which cannot occur
  struct Slot {
    uint64_t key = kFree;
    Merge merge = {};
  };

  std::size_t slot_of(uint64_t key) const {
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
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace weft::data
