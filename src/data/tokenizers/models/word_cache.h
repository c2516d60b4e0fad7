#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/piece_pair.h"

namespace weft::data {

/// A short word as integers, so that comparing two words takes no loop and no branch.
struct WordKey {
  static constexpr std::size_t kMaxBytes = 16;

  uint64_t first = 0;
  uint64_t second = 0;
  uint32_t tag = 0;  // length and tokenizer; 0: no word

  /// Reads the first `size` of the kMaxBytes bytes at `at`. All longer words have one key, which
  /// no entry has.
  void assign(const char* at, std::size_t size, uint32_t tokenizer) {
    size = std::min(size, kMaxBytes + 1);
    const auto eight = [at](std::size_t from) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, at + from, 8);
      return bytes;
    };
    first = eight(0) & kMasks[size][0];
    second = eight(8) & kMasks[size][1];
    tag = static_cast<uint32_t>(size) | tokenizer << 8;
  }

  uint64_t hash() const {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
    const uint64_t mixed = (first + tag) * kFactor ^ second * 0xC2B2AE3D27D4EB4FU;
    return (mixed ^ (mixed >> 32)) * kFactor;
  }

  bool is_short() const { return (tag & 0xFFU) <= kMaxBytes; }

 private:
  using Masks = std::array<std::array<uint64_t, 2>, kMaxBytes + 2>;

  /// Of the bytes of words, by their length.
  static constexpr Masks make_masks() {
    Masks masks{};
    for (std::size_t size = 0; size <= kMaxBytes; ++size) {
      for (std::size_t byte = 0; byte < size; ++byte) {
        const bool is_little = std::endian::native == std::endian::little;
        masks[size][byte / 8] |= uint64_t{0xFF} << 8 * (is_little ? byte % 8 : 7 - byte % 8);
      }
    }
    return masks;
  }
  static const Masks kMasks;
};

inline constexpr WordKey::Masks WordKey::kMasks = WordKey::make_masks();

/// A text of which kMaxBytes bytes can be read from any position, also at its end. It must outlive
/// this.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text)
      : text_(text), tail_begin_(text.size() - std::min(text.size(), WordKey::kMaxBytes)) {
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(tail_begin_), text.end(), tail_.begin());
  }

  const char* at(std::size_t begin) const {
    return begin < tail_begin_ ? text_.data() + begin : tail_.data() + (begin - tail_begin_);
  }

 private:
  std::string_view text_;
  std::size_t tail_begin_;
  std::array<char, 2 * WordKey::kMaxBytes> tail_{};
};

/// Cache of the ids of recent words, one per thread; words repeat so often that most never reach
/// the model.
class WordCache {
 public:
  static constexpr std::size_t kMaxIds = 3;
  static constexpr std::size_t kMaxIdsOfLine = 7;

  struct Entry {
    uint64_t first = 0;
    uint64_t second = 0;
    uint32_t tag = 0;
    std::array<int32_t, kMaxIds> ids{};  // -1 after the last; kFillsLine: they are in the line

    bool holds(const WordKey& key) const {
      return ((first ^ key.first) | (second ^ key.second) | (tag ^ key.tag)) == 0;
    }
    std::size_t count() const {
      return std::size_t{ids[0] >= 0} + std::size_t{ids[1] >= 0} + std::size_t{ids[2] >= 0};
    }
    bool fills_line() const { return ids[0] == kFillsLine; }
  };

  /// One CPU cache line: two words, or a word of many ids, which take the place of the second.
  struct alignas(64) Line {
    std::array<Entry, 2> entries;

    /// Null if the word is not there.
    const Entry* find(const WordKey& key) const {
      const Entry& entry = entries[entries[1].holds(key) ? 1 : 0];
      return entry.holds(key) ? &entry : nullptr;
    }

    /// The ids of a word that fills the line; -1 after the last.
    std::array<int32_t, kMaxIdsOfLine> many_ids() const {
      const Entry& packed = entries[1];
      return {static_cast<int32_t>(packed.first),
              static_cast<int32_t>(packed.first >> 32),
              static_cast<int32_t>(packed.second),
              static_cast<int32_t>(packed.second >> 32),
              packed.ids[0],
              packed.ids[1],
              packed.ids[2]};
    }

    /// Replaces the older entry, or both, unless the word is too long or has too many ids.
    void put(const WordKey& key, const std::vector<Piece>& pieces) {
      if (!key.is_short() || pieces.size() > kMaxIdsOfLine) {
        return;
      }
      std::array<int32_t, kMaxIdsOfLine> ids;
      ids.fill(-1);
      std::transform(pieces.begin(), pieces.end(), ids.begin(),
                     [](const Piece& piece) { return piece.id; });
      Entry entry = {key.first, key.second, key.tag, {ids[0], ids[1], ids[2]}};
      if (pieces.size() > kMaxIds) {
        entry.ids[0] = kFillsLine;
        entries[1] = {
            pair_key(ids[1], ids[0]), pair_key(ids[3], ids[2]), 0, {ids[4], ids[5], ids[6]}};
      } else {
        entries[1] = entries[0].fills_line() ? Entry{} : entries[0];
      }
      entries[0] = entry;
    }
  };

  WordCache() : lines_(std::size_t{1} << kBits) {}

  Line& line(const WordKey& key) { return lines_[key.hash() >> (64 - kBits)]; }

 private:
  static constexpr int32_t kFillsLine = -2;
  static constexpr int kBits = 16;
  std::vector<Line> lines_;
};

}  // namespace weft::data
