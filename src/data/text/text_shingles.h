#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// Normalises a text for comparison: words (letters, numbers, marks) in lower case, separated by
/// single spaces. A text without words is only stripped of surrounding white space.
std::u32string normalize_text(std::string_view text);

/// Hash of the normalised text.
uint64_t digest_of_words(std::string_view text, uint64_t seed = 0);

/// Returns the sorted, distinct hashes of all runs of five code points of a normalised text; a
/// shorter text is a single shingle, an empty one has none.
std::vector<uint32_t> make_shingles(std::u32string_view normalized);

/// Common shingles / all shingles; 1 if both have none.
double jaccard(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b);

/// MinHash signature of the one or two texts of a row.
struct MinHashSignature {
  static constexpr std::size_t kNumHashes = 64;

  uint64_t whole = 0;  // hash of the normalised texts; 0: all of them are empty
  // Minimum of each of 64 hash functions over the shingles (MinHash; Broder, "On the resemblance
  // and containment of documents", 1997): two rows agree in an entry with probability equal to
  // their Jaccard similarity.
  std::array<uint32_t, kNumHashes> min_hashes{};

  int matching_hashes(const MinHashSignature& other) const;
};

MinHashSignature minhash_signature(const std::vector<std::string>& texts);

}  // namespace weft::data
