#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "data/tokenizers/vocabulary.h"

namespace weft::data {

/// Cache of the ids of recent words, one per thread; words repeat so often that most never reach
/// the model.
class WordCache {
 public:
  static constexpr std::size_t kMaxWordBytes = 26;
  static constexpr std::size_t kMaxIds = 8;

  /// One CPU cache line.
  struct alignas(64) Entry {
    uint32_t owner = 0;  // tokenizer id; 0: none
    uint8_t length = 0;
    uint8_t count = 0;
    std::array<char, kMaxWordBytes> word{};
    std::array<int32_t, kMaxIds> ids{};
  };

  WordCache() : entries_(kEntries) {}

  /// Slot of a word of at most kMaxWordBytes bytes; `holds` checks whether it contains this word.
  Entry& entry(std::string_view word) { return entries_[text_hash(word) & (kEntries - 1)]; }

  static bool holds(const Entry& entry, uint32_t owner, std::string_view word) {
    return entry.owner == owner && entry.length == word.size() &&
           std::memcmp(entry.word.data(), word.data(), word.size()) == 0;
  }

 private:
  static constexpr std::size_t kEntries = std::size_t{1} << 15;
  std::vector<Entry> entries_;
};

}  // namespace weft::data
