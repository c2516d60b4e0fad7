#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// Packs the last 1 to 7 bytes of a text into an integer, without a library call.
inline uint64_t text_tail(const char* at, std::size_t left) {
  if (left >= 4) {
    uint32_t first = 0;
    uint32_t last = 0;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + left - 4, 4);
    return (uint64_t{last} << 32) | first;
  }
  const auto byte = [at](std::size_t index) {
    return uint64_t{static_cast<unsigned char>(at[index])};
  };
  return byte(0) | (byte(left / 2) << 8) | (byte(left - 1) << 16);
}

/// Fast hash of short texts, for in-memory tables only: its values are never stored.
inline uint64_t text_hash(std::string_view text) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
  uint64_t hash = text.size() * kFactor;
  const char* at = text.data();
  std::size_t left = text.size();
  const auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 29;
  };
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  if (left > 0) {
    mix(text_tail(at, left));
  }
  return hash ^ (hash >> 32);
}

/// Bidirectional map between pieces and ids, without allocating strings for lookups. An id may have
/// no piece.
class Vocabulary {
 public:
  static constexpr int32_t kNone = -1;

  /// Largest id allowed in a vocabulary of `count` pieces: far above any real one, far below what
  /// would exhaust memory.
  static int64_t largest_id(int64_t count) { return 4 * count + 1'000'000; }

  /// Keeps the first id of a duplicate piece; returns whether the piece is new.
  bool add(std::string_view piece, int32_t id);
  /// Returns the id of the piece; a new piece gets the id size().
  int32_t find_or_add(std::string_view piece) {
    add(piece, static_cast<int32_t>(size()));
    return find(piece);
  }

  int32_t find(std::string_view piece) const {
    return slots_.empty() ? kNone : find_hashed(piece, text_hash(piece));
  }
  /// Empty if the id has no piece.
  std::string_view piece(int32_t id) const;
  bool has(int32_t id) const;

  /// Largest id + 1.
  int64_t size() const { return static_cast<int64_t>(pieces_.size()); }
  int64_t count() const { return count_; }
  std::size_t longest() const { return longest_; }  // bytes

 private:
  struct Slice {
    uint32_t begin = 0;
    uint32_t length = kAbsent;
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t id = kNone;
    uint32_t begin = 0;
    uint32_t length = 0;
  };
  static constexpr uint32_t kAbsent = 0xFFFFFFFFU;

  int32_t find_hashed(std::string_view piece, uint64_t hash) const;
  void grow();

  std::string bytes_;
  std::vector<Slice> pieces_;  // by id
  std::vector<Slot> slots_;    // open addressing, a power of two
  int64_t count_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace weft::data
