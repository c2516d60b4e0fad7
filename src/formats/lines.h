#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/error.h"

namespace weft::formats {

struct LineOptions {
  int64_t longest = int64_t{64} << 20;  // bytes of a line
  bool splits_long = false;  // longer ones come in pieces, cut at white space where there is some;
                             // else they are an error
  bool keeps_returns = false;  // a carriage return before the line feed stays
};

/// Streams a text file line by line in bounded memory; names ending in `.gz` are unpacked as they
/// are read; `-` is standard input. Only a line feed ends a line; a carriage return before it and a
/// byte-order mark at the start are dropped.
class LineReader {
 public:
  /// Throws Error where the file cannot be read. Lines longer than `longest` bytes are an error
  /// that names the line.
  explicit LineReader(const std::string& path, int64_t longest = int64_t{64} << 20);
  LineReader(const std::string& path, const LineOptions& options);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// The next line (valid until the next call); false at the end. Throws Error (damaged gzip, I/O,
  /// a file that begins as other formats do, Parquet and zip archives among them).
  bool next(std::string_view& line);
  /// Whether the line that `next` gave last is a piece that the next call goes on with
  /// (LineOptions::splits_long).
  bool goes_on() const;
  /// Number of the line that `next` gave last, from 1.
  int64_t number() const;
  /// `path:number`.
  std::string place() const;
  /// Bytes of the file consumed so far (packed bytes for gz) and in all (-1 unknown), for progress.
  int64_t consumed() const;
  int64_t total() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::formats
