#include "data/text/text_shingles.h"

#include <algorithm>

#include "base/codepoints.h"
#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "base/utf8.h"

// The function is compiled for several CPU levels; one version is selected at program start.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_PER_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WEFT_PER_PROCESSOR
#endif

namespace weft::data {

namespace {

constexpr std::size_t kWidth = 5;  // code points of a shingle
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
constexpr uint32_t kSecondText = 0x5bd1e995U;  // separates the shingles of a second text

bool is_word_character(char32_t code) {
  return (classes_of(code) & (kIsLetter | kIsNumber | kIsCombiningMark)) != 0;
}

/// Fast path for ASCII letters and digits, without table lookups.
bool is_plain(char32_t code) {
  return (code >= U'a' && code <= U'z') || (code >= U'0' && code <= U'9');
}

uint32_t shingle_hash_of(std::u32string_view shingle) {
  uint64_t hash = shingle.size();
  for (const char32_t code : shingle) {
    hash = (hash ^ code) * kFactor;
    hash ^= hash >> 32;
  }
  hash *= 0xD6E8FEB86659FD93U;
  return static_cast<uint32_t>(hash >> 32);
}

/// Appends shingles in text order, with repetitions.
void append_shingles(std::u32string_view normalized, std::vector<uint32_t>& shingles) {
  if (normalized.empty()) {
    return;
  }
  if (normalized.size() <= kWidth) {
    shingles.push_back(shingle_hash_of(normalized));
    return;
  }
  for (std::size_t at = 0; at + kWidth <= normalized.size(); ++at) {
    shingles.push_back(shingle_hash_of(normalized.substr(at, kWidth)));
  }
}

using ShingleTable = std::array<uint32_t, MinHashSignature::kNumHashes>;

/// Multipliers (odd) and addends of the hash functions.
struct HashFunctions {
  ShingleTable multipliers{};
  ShingleTable addends{};

  HashFunctions() {
    for (std::size_t i = 0; i < multipliers.size(); ++i) {
      const uint64_t bits = hash_combine(i, 0x73686e676c65);
      multipliers[i] = static_cast<uint32_t>(bits) | 1U;
      addends[i] = static_cast<uint32_t>(bits >> 32);
    }
  }
};

WEFT_PER_PROCESSOR void update_min_hashes(const uint32_t* shingles,
                                          std::size_t count,
                                          const uint32_t* multipliers,
                                          const uint32_t* addends,
                                          uint32_t* min_hashes) {
  for (std::size_t at = 0; at < count; ++at) {
    const uint32_t shingle = shingles[at];
#pragma GCC ivdep
    for (std::size_t i = 0; i < MinHashSignature::kNumHashes; ++i) {
      const uint32_t value = shingle * multipliers[i] + addends[i];
      min_hashes[i] = value < min_hashes[i] ? value : min_hashes[i];
    }
  }
}

}  // namespace

std::u32string normalize_text(std::string_view text) {
  std::u32string normalized;
  normalized.reserve(text.size());
  bool has_gap = false;
  for (std::size_t at = 0; at < text.size();) {
    char32_t code = utf8::next(text, at);
    if (code >= U'A' && code <= U'Z') {
      code += U'a' - U'A';
    }
    if (!is_plain(code)) {
      if (code < 0x80 || !is_word_character(code)) {
        has_gap = !normalized.empty();
        continue;
      }
      code = lower_case(code);
    }
    if (has_gap) {
      normalized.push_back(U' ');
      has_gap = false;
    }
    normalized.push_back(code);
  }
  return normalized.empty() ? utf8::decode(trim(text)) : normalized;
}

uint64_t digest_of_words(std::string_view text, uint64_t seed) {
  const auto words = normalize_text(text);
  return digest(words.data(), words.size() * sizeof(char32_t), seed);
}

std::vector<uint32_t> make_shingles(std::u32string_view normalized) {
  std::vector<uint32_t> shingles;
  append_shingles(normalized, shingles);
  std::sort(shingles.begin(), shingles.end());
  shingles.erase(std::unique(shingles.begin(), shingles.end()), shingles.end());
  return shingles;
}

double jaccard(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      ++common;
      ++i;
      ++j;
    } else if (a[i] < b[j]) {
      ++i;
    } else {
      ++j;
    }
  }
  const std::size_t all = a.size() + b.size() - common;
  return all == 0 ? 1.0 : static_cast<double>(common) / static_cast<double>(all);
}

int MinHashSignature::matching_hashes(const MinHashSignature& other) const {
  int count = 0;
  for (std::size_t i = 0; i < kNumHashes; ++i) {
    count += min_hashes[i] == other.min_hashes[i] ? 1 : 0;
  }
  return count;
}

MinHashSignature minhash_signature(const std::vector<std::string>& texts) {
  static const HashFunctions functions;
  MinHashSignature signature;
  signature.min_hashes.fill(~uint32_t{0});
  std::vector<uint32_t> shingles;
  bool is_empty = true;
  uint64_t whole = texts.size();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::u32string normalized = normalize_text(texts[i]);
    is_empty = is_empty && normalized.empty();
    whole = digest(normalized.data(), normalized.size() * sizeof(char32_t),
                   hash_combine(whole, normalized.size()));
    const std::size_t before = shingles.size();
    append_shingles(normalized, shingles);
    for (std::size_t at = before; i > 0 && at < shingles.size(); ++at) {
      shingles[at] ^= kSecondText;
    }
  }
  update_min_hashes(shingles.data(), shingles.size(), functions.multipliers.data(),
                    functions.addends.data(), signature.min_hashes.data());
  signature.whole = is_empty ? 0 : whole | 1U;
  return signature;
}

}  // namespace weft::data
