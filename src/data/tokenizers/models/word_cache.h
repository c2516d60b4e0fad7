#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "data/tokenizers/vocabulary.h"

namespace weft::data {

/// The ids of words met lately. One for each thread; words of text come again so often that most
/// never reach the model.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 26;
  static constexpr std::size_t kMostIds = 8;

  /// One line of the processor's cache.
  struct alignas(64) Entry {
    uint32_t owner = 0;  // which tokenizer; 0: none
    uint8_t length = 0;
    uint8_t count = 0;
    std::array<char, kLongestWord> word{};
    std::array<int32_t, kMostIds> ids{};
  };

  WordCache() : entries_(kEntries) {}

  /// The place of a word of at most kLongestWord bytes; `holds` says whether it is taken by this
  /// word.
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
