#include "data/text/text_shingles.h"

#include <algorithm>

#include "base/codepoints.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/utf8.h"

// Each level of processor gets its own copy of the function, chosen when the program starts.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WEFT_PER_PROCESSOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WEFT_PER_PROCESSOR
#endif

namespace weft::data {

namespace {

constexpr std::size_t kWidth = 5;  // code points of a shingle
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15U;
constexpr uint32_t kSecondText = 0x5bd1e995U;  // sets the shingles of a second text apart

bool is_of_word(char32_t code) {
  return (classes_of(code) & (kIsLetter | kIsNumber | kIsCombiningMark)) != 0;
}

/// Letters and numbers of ASCII without a look into the tables.
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

/// As they stand in the text, with repetitions.
void append_shingles(std::u32string_view form, std::vector<uint32_t>& shingles) {
  if (form.empty()) {
    return;
  }
  if (form.size() <= kWidth) {
    shingles.push_back(shingle_hash_of(form));
    return;
  }
  for (std::size_t at = 0; at + kWidth <= form.size(); ++at) {
    shingles.push_back(shingle_hash_of(form.substr(at, kWidth)));
  }
}

using ShingleTable = std::array<uint32_t, TextPrint::kMinima>;

/// Factors (odd) and summands of the hash functions.
struct Functions {
  ShingleTable factors{};
  ShingleTable summands{};

  Functions() {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const uint64_t bits = mix(i, 0x73686e676c65);
      factors[i] = static_cast<uint32_t>(bits) | 1U;
      summands[i] = static_cast<uint32_t>(bits >> 32);
    }
  }
};

WEFT_PER_PROCESSOR void lower_minima(const uint32_t* shingles,
                                     std::size_t count,
                                     const uint32_t* factors,
                                     const uint32_t* summands,
                                     uint32_t* minima) {
  for (std::size_t at = 0; at < count; ++at) {
    const uint32_t shingle = shingles[at];
#pragma GCC ivdep
    for (std::size_t i = 0; i < TextPrint::kMinima; ++i) {
      const uint32_t value = shingle * factors[i] + summands[i];
      minima[i] = value < minima[i] ? value : minima[i];
    }
  }
}

}  // namespace

std::u32string compared_form(std::string_view text) {
  std::u32string form;
  form.reserve(text.size());
  bool has_gap = false;
  for (std::size_t at = 0; at < text.size();) {
    char32_t code = utf8::next(text, at);
    if (code >= U'A' && code <= U'Z') {
      code += U'a' - U'A';
    }
    if (!is_plain(code)) {
      if (code < 0x80 || !is_of_word(code)) {
        has_gap = !form.empty();
        continue;
      }
      code = lower_case(code);
    }
    if (has_gap) {
      form.push_back(U' ');
      has_gap = false;
    }
    form.push_back(code);
  }
  return form.empty() ? utf8::decode(trim(text)) : form;
}

std::vector<uint32_t> shingles_of(std::u32string_view form) {
  std::vector<uint32_t> shingles;
  append_shingles(form, shingles);
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

int TextPrint::agreeing(const TextPrint& other) const {
  int count = 0;
  for (std::size_t i = 0; i < kMinima; ++i) {
    count += minima[i] == other.minima[i] ? 1 : 0;
  }
  return count;
}

TextPrint print_of(const std::vector<std::string>& texts) {
  static const Functions functions;
  TextPrint print;
  print.minima.fill(~uint32_t{0});
  std::vector<uint32_t> shingles;
  bool is_empty = true;
  uint64_t whole = texts.size();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::u32string form = compared_form(texts[i]);
    is_empty = is_empty && form.empty();
    whole = digest(form.data(), form.size() * sizeof(char32_t), mix(whole, form.size()));
    const std::size_t before = shingles.size();
    append_shingles(form, shingles);
    for (std::size_t at = before; i > 0 && at < shingles.size(); ++at) {
      shingles[at] ^= kSecondText;
    }
  }
  lower_minima(shingles.data(), shingles.size(), functions.factors.data(),
               functions.summands.data(), print.minima.data());
  print.whole = is_empty ? 0 : whole | 1U;
  return print;
}

}  // namespace weft::data
