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

/// A text on its way through normalizers, each byte with the bytes of the first text that it stands
/// for. Where nobody asks for places (`encode`), these are not kept, and the same code runs at the
/// speed of plain strings.
class AlignedText {
 public:
  /// An empty text; with `is_tracked` places are kept.
  explicit AlignedText(bool is_tracked = false) : is_tracked_(is_tracked) {}
  /// `text` as it stands, its first byte at `offset` of the first text.
  AlignedText(std::string_view text, bool is_tracked, std::size_t offset = 0);

  /// As the second constructor, in place, so that the memory serves again.
  void assign(std::string_view text, bool is_tracked, std::size_t offset = 0);

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool is_tracked() const { return is_tracked_; }

  /// For changes byte by byte, which keep every place.
  std::string& mutable_bytes() { return bytes_; }

  /// Appends bytes [begin, end) of `from` as they are.
  void append_kept(const AlignedText& from, std::size_t begin, std::size_t end);
  /// Appends `bytes`, which stand for [begin, end) of `from`; where that is empty they stand for
  /// nothing, before `begin`.
  void append_changed(const AlignedText& from,
                      std::size_t begin,
                      std::size_t end,
                      std::string_view bytes);
  void append_changed(const AlignedText& from, std::size_t begin, std::size_t end, char32_t code);

  /// The bytes of the first text that [begin, end) stands for. Tracked texts only.
  TextRange origin(std::size_t begin, std::size_t end) const;

 private:
  std::string bytes_;
  std::vector<TextRange> origins_;  // one a byte; empty unless tracked
  bool is_tracked_;
};

/// Copies a text but for what changes, from left to right; what is kept goes over in long runs.
class Rewriting {
 public:
  explicit Rewriting(const AlignedText& from) : from_(from), made_(from.is_tracked()) {}

  /// `bytes` for [begin, end), as AlignedText::append_changed has it; empty ones: it goes.
  void change(std::size_t begin, std::size_t end, std::string_view bytes) {
    keep_to(begin);
    made_.append_changed(from_, begin, end, bytes);
    done_ = end;
  }
  void change(std::size_t begin, std::size_t end, char32_t code) {
    keep_to(begin);
    made_.append_changed(from_, begin, end, code);
    done_ = end;
  }
  /// Keeps the rest. Called once, at the end.
  AlignedText finish() {
    keep_to(from_.size());
    return std::move(made_);
  }

 private:
  void keep_to(std::size_t begin) {
    if (done_ < begin) {
      made_.append_kept(from_, done_, begin);
    }
  }

  const AlignedText& from_;
  AlignedText made_;
  std::size_t done_ = 0;  // of `from_`
};

}  // namespace weft::data
