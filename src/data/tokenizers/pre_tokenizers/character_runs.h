#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/codepoints.h"
#include "base/utf8.h"

namespace weft::data {

/// The classes of characters that the patterns of tokenizers distinguish.
enum class RunKind : uint8_t { kLetter, kNumber, kSpace, kOther };

inline RunKind run_kind(char32_t code) {
  if (is_white_space(code)) {
    return RunKind::kSpace;
  }
  const uint8_t classes = classes_of(code);
  if ((classes & kIsLetter) != 0) {
    return RunKind::kLetter;
  }
  return (classes & kIsNumber) != 0 ? RunKind::kNumber : RunKind::kOther;
}

inline const std::array<RunKind, 128>& ascii_run_kinds() {
  static const std::array<RunKind, 128> kKinds = [] {
    std::array<RunKind, 128> result{};
    for (std::size_t byte = 0; byte < result.size(); ++byte) {
      result[byte] = run_kind(static_cast<char32_t>(byte));
    }
    return result;
  }();
  return kKinds;
}

/// The kinds of the characters of a text, and where runs of one kind end.
class CharacterRuns {
 public:
  explicit CharacterRuns(std::string_view text) : text_(text), ascii_(ascii_run_kinds()) {}

  std::size_t size() const { return text_.size(); }
  char byte(std::size_t at) const { return text_[at]; }
  bool is_line_break(std::size_t at) const { return text_[at] == '\r' || text_[at] == '\n'; }
  std::string_view from(std::size_t at) const { return text_.substr(at); }

  /// Kind of the character at `at`, which is moved past it.
  RunKind next(std::size_t& at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) {
      ++at;
      return ascii_[byte];
    }
    return run_kind(utf8::next(text_, at));
  }

  RunKind kind_at(std::size_t at) const { return next(at); }

  /// End of the characters of `kind` from `begin` on.
  std::size_t end_of_run(std::size_t begin, RunKind kind) const {
    for (std::size_t end = begin;;) {
      if (kind == RunKind::kLetter) {
        end = end_of_ascii_letters(end);
      }
      std::size_t at = end;
      if (at == text_.size() || next(at) != kind) {
        return end;
      }
      end = at;
    }
  }

  /// \s+(?!\S)|\s+: if a word follows, the last white space character is left for it.
  std::size_t end_of_space(std::size_t begin, std::size_t end) const {
    if (end == text_.size()) {
      return end;
    }
    const std::size_t last = utf8::begin_of_last(text_.substr(0, end));
    return last > begin ? last : end;
  }

 private:
  /// Looks at eight bytes at once; near the end of the text it may stop early.
  std::size_t end_of_ascii_letters(std::size_t at) const {
    constexpr uint64_t kOnes = 0x0101010101010101U;
    constexpr uint64_t kHighBits = 0x80 * kOnes;
    if constexpr (std::endian::native == std::endian::little) {
      for (; at + 8 <= text_.size(); at += 8) {
        uint64_t bytes = 0;
        std::memcpy(&bytes, text_.data() + at, 8);
        const uint64_t lower = (bytes | (0x20 * kOnes)) & ~kHighBits;
        const uint64_t from_a = lower + (0x80 - 'a') * kOnes;
        const uint64_t after_z = lower + (0x7F - 'z') * kOnes;
        const uint64_t others = ~(from_a & ~after_z & ~bytes) & kHighBits;
        if (others != 0) {
          return at + static_cast<std::size_t>(std::countr_zero(others)) / 8;
        }
      }
    }
    return at;
  }

  std::string_view text_;
  const std::array<RunKind, 128>& ascii_;
};

}  // namespace weft::data
