#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// A text as it is compared: words (letters, numbers, marks) in lower case with one space between
/// them. A text without any word stays as it is, without the white space at its ends.
std::u32string compared_form(std::string_view text);

/// Hashes of all stretches of five code points of a compared form, sorted, each once; a shorter
/// text is one stretch by itself, an empty one has none.
std::vector<uint32_t> shingles_of(std::u32string_view form);

/// Common shingles / all shingles; 1 where both have none.
double jaccard(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

/// What stands for the one or two texts of a row.
struct TextPrint {
  static constexpr std::size_t kMinima = 64;

  uint64_t whole = 0;  // hash of the compared forms; 0: all of them are empty
  // Least value of each of 64 hash functions over the shingles (MinHash; Broder, "On the
  // resemblance and containment of documents", 1997): two rows agree at a place with the
  // probability of their Jaccard similarity.
  std::array<uint32_t, kMinima> minima{};

  int agreeing(const TextPrint& other) const;
};

TextPrint print_of(const std::vector<std::string>& texts);

}  // namespace weft::data
