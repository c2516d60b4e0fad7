#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::data {

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A text that passes through normalizers, with the bytes of the original text that each byte comes
/// from. If offsets are not needed (`encode`), they are not tracked, and the same code runs at the
/// speed of plain strings.
class AlignedText {
 public:
  /// An empty text; offsets are tracked if `is_tracked`.
  explicit AlignedText(bool is_tracked = false) : is_tracked_(is_tracked) {}
  /// Copies `text`; its first byte has `offset` in the original text.
  AlignedText(std::string_view text, bool is_tracked, std::size_t offset = 0);

  /// Like the second constructor, in place, so that memory is reused.
  void assign(std::string_view text, bool is_tracked, std::size_t offset = 0);

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool is_tracked() const { return is_tracked_; }

  /// For bytewise changes that keep all offsets.
  std::string& mutable_bytes() { return bytes_; }

  /// Appends bytes [begin, end) of `from` unchanged.
  void append_unchanged(const AlignedText& from, std::size_t begin, std::size_t end);
  /// Appends `bytes` as replacement of [begin, end) of `from`; if that range is empty, as an
  /// insertion before `begin`.
  void append_replaced(const AlignedText& from,
                       std::size_t begin,
                       std::size_t end,
                       std::string_view bytes);
  void append_replaced(const AlignedText& from, std::size_t begin, std::size_t end, char32_t code);

  /// Bytes of the original text that [begin, end) comes from. Tracked texts only.
  TextRange origin(std::size_t begin, std::size_t end) const;

 private:
  std::string bytes_;
  std::vector<TextRange> origins_;  // one per byte; empty unless tracked
  bool is_tracked_;
};

/// A text in which each ill-formed part of UTF-8 is replaced by U+FFFD.
AlignedText repaired_text(std::string_view text, bool is_tracked);

/// Copies a text with replacements, from left to right; unchanged parts are copied in long runs.
class AlignedTextBuilder {
 public:
  explicit AlignedTextBuilder(const AlignedText& from) : from_(from), result_(from.is_tracked()) {}

  /// Replaces [begin, end) by `bytes`, as AlignedText::append_replaced; empty `bytes` delete it.
  void replace(std::size_t begin, std::size_t end, std::string_view bytes) {
    copy_until(begin);
    result_.append_replaced(from_, begin, end, bytes);
    position_ = end;
  }
  void replace(std::size_t begin, std::size_t end, char32_t code) {
    copy_until(begin);
    result_.append_replaced(from_, begin, end, code);
    position_ = end;
  }
  /// Copies the rest. Called once, at the end.
  AlignedText finish() {
    copy_until(from_.size());
    return std::move(result_);
  }

 private:
  void copy_until(std::size_t begin) {
    if (position_ < begin) {
      result_.append_unchanged(from_, position_, begin);
    }
  }

  const AlignedText& from_;
  AlignedText result_;
  std::size_t position_ = 0;  // of `from_`
};

}  // namespace weft::data
