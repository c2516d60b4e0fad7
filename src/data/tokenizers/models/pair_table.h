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

/// Merges by their two sides; open addressing, since every uncached word needs many lookups. For
/// pairs of small ids, as bytes have, a table of bits tells which have a merge: in texts far from
/// the training data, most have none.
class PairTable {
 public:
  PairTable() : slots_(64) {}

  /// Later entries of a pair replace earlier ones.
  void put(int32_t left, int32_t right, Merge merge) {
    if (2 * (count_ + 1) > slots_.size()) {
      grow();
    }
    const uint64_t key = pair_key(left, right);
    if (is_small(left, right)) {
      has_small_[small_index(left, right)] = true;
    }
    Slot& slot = slots_[slot_of(key)];
    count_ += slot.key == kFree ? 1 : 0;
    slot = {key, merge};
  }

  /// Rank kNever if the pair has no merge.
  Merge find(int32_t left, int32_t right) const {
    if (is_small(left, right) && !has_small_[small_index(left, right)]) {
      return {};
    }
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

  static constexpr std::size_t kSmallIds = 512;
  static bool is_small(int32_t left, int32_t right) {
    return static_cast<uint32_t>(left | right) < kSmallIds;
  }
  static std::size_t small_index(int32_t left, int32_t right) {
    return static_cast<std::size_t>(left) * kSmallIds + static_cast<std::size_t>(right);
  }

  std::vector<bool> has_small_ = std::vector<bool>(kSmallIds * kSmallIds);  // by small_index
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace weft::data
