#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/error.h"

namespace weft::formats {

struct LineOptions {
  int64_t max_line_bytes = int64_t{64} << 20;
  bool splits_long = false;  // longer lines are returned in pieces, split at white space if
                             // possible; else they are an error
  bool keeps_carriage_returns = false;  // keeps a carriage return before the line feed
};

/// Streams a text file line by line in bounded memory; `.gz` and `.zst` files are decompressed on
/// the fly; `-` is standard input. Only a line feed ends a line; a carriage return before it and a
/// byte-order mark at the start are dropped.
class LineReader {
 public:
  /// Throws Error if the file cannot be read. Lines longer than `max_line_bytes` are an error that
  /// names the line.
  explicit LineReader(const std::string& path, int64_t max_line_bytes = int64_t{64} << 20);
  LineReader(const std::string& path, const LineOptions& options);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// Reads the next line (valid until the next call); false at the end. Throws Error (corrupt gzip,
  /// I/O, a file that starts like another format such as Parquet or zip).
  bool next(std::string_view& line);
  /// Whether the last line is a piece that the next call continues (LineOptions::splits_long).
  bool continues() const;
  /// Whether there is input for the next line, so that `next` need not wait for the writer of a
  /// pipe to begin it.
  bool has_input() const;
  /// Number of the last line, from 1.
  int64_t number() const;
  /// `path:number`.
  std::string location() const;
  /// Bytes of the file in the lines so far (of a compressed one estimated), and its size (-1:
  /// unknown), for progress.
  int64_t consumed() const;
  int64_t total() const;
  /// The part of the file in the lines so far, 0 to 1; negative: unknown.
  double fraction_read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::formats
