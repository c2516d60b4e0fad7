#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/utf8.h"
#include "data/tokenizers/pre_tokenizers/character_runs.h"

namespace weft::data {

/// The classes of up to 64 bytes of a text, as bit masks: bit i is byte i of the window. So a few
/// operations on integers find the words of the window, without a branch per word. All bytes of a
/// character have its class.
class CharacterWindow {
 public:
  static constexpr std::size_t kMaxBytes = 64;

  /// From byte `begin` on, where a character begins; valid UTF-8 only. The window ends at the end
  /// of the text, or before white space or a number of more than one byte.
  CharacterWindow(std::string_view text, std::size_t begin)
      : size_(std::min(kMaxBytes, text.size() - begin)), is_last_(begin + size_ == text.size()) {
    std::array<char, kMaxBytes> padded;
    const char* bytes = text.data() + begin;
    if (size_ < kMaxBytes) {
      padded.fill('\0');
      bytes = static_cast<const char*>(std::memcpy(padded.data(), bytes, size_));
    }
    for (uint64_t rest = read_ascii(bytes); rest != 0;) {
      const auto first = static_cast<std::size_t>(std::countr_zero(rest));
      std::size_t end = begin + first;
      const RunKind kind = run_kind(utf8::next(text, end));
      if (kind == RunKind::kSpace || kind == RunKind::kNumber) {
        size_ = first;
        is_last_ = false;
        break;
      }
      const uint64_t character = first_bits(end - begin - first) << first;
      letters |= kind == RunKind::kLetter ? character : 0;
      continuations |= character & (character << 1);
      rest &= ~character;
    }
    others = first_bits(size_) & ~(letters | numbers | spaces);
  }

  uint64_t letters = 0;
  uint64_t numbers = 0;
  uint64_t spaces = 0;  // white space
  uint64_t others = 0;
  uint64_t blanks = 0;         // U+0020
  uint64_t line_breaks = 0;    // \r and \n
  uint64_t apostrophes = 0;    // U+0027
  uint64_t continuations = 0;  // bytes of a character after its first

  std::size_t size() const { return size_; }

  /// Whether the text ends with this window.
  bool is_last() const { return is_last_; }

  /// The `count` first bits; count <= 64.
  static uint64_t first_bits(std::size_t count) {
    return count < 64 ? (uint64_t{1} << count) - 1 : ~uint64_t{0};
  }

 private:
  // Both set the masks of ASCII characters, and return the bytes that are none.
#ifdef __SSE2__
  uint64_t read_ascii(const char* bytes) {
    letters = mask_of(bytes, [](__m128i part) {
      return is_between(_mm_or_si128(part, _mm_set1_epi8('a' - 'A')), 'a', 'z');
    });
    numbers = mask_of(bytes, [](__m128i part) { return is_between(part, '0', '9'); });
    blanks = mask_of(bytes, [](__m128i part) { return equal(part, ' '); });
    spaces = blanks | mask_of(bytes, [](__m128i part) { return is_between(part, '\t', '\r'); });
    line_breaks = mask_of(bytes, [](__m128i part) { return equal(part, '\n'); }) |
                  mask_of(bytes, [](__m128i part) { return equal(part, '\r'); });
    apostrophes = mask_of(bytes, [](__m128i part) { return equal(part, '\''); });
    return mask_of(bytes, [](__m128i part) { return part; });
  }

  /// The bytes whose highest bit is set in what `test` returns.
  template <class Test>
  static uint64_t mask_of(const char* bytes, const Test& test) {
    uint64_t mask = 0;
    for (std::size_t at = 0; at < kMaxBytes; at += 16) {
      __m128i part;
      std::memcpy(&part, bytes + at, 16);
      mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(test(part)))} << at;
    }
    return mask;
  }

  static __m128i equal(__m128i bytes, char value) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(value));
  }

  /// Whether first <= byte <= last, for ASCII.
  static __m128i is_between(__m128i bytes, char first, char last) {
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(first - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(last + 1))));
  }
#else
  uint64_t read_ascii(const char* bytes) {
    uint64_t not_ascii = 0;
    for (std::size_t at = 0; at < kMaxBytes; ++at) {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      const uint64_t bit = uint64_t{1} << at;
      if (byte >= 0x80) {
        not_ascii |= bit;
        continue;
      }
      const RunKind kind = ascii_run_kinds()[byte];
      letters |= kind == RunKind::kLetter ? bit : 0;
      numbers |= kind == RunKind::kNumber ? bit : 0;
      spaces |= kind == RunKind::kSpace ? bit : 0;
      blanks |= byte == ' ' ? bit : 0;
      line_breaks |= byte == '\n' || byte == '\r' ? bit : 0;
      apostrophes |= byte == '\'' ? bit : 0;
    }
    return not_ascii;
  }
#endif

  std::size_t size_;
  bool is_last_;
};

}  // namespace weft::data
