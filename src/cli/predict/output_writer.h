#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/json.h"
#include "formats/table_reader.h"

namespace weft::cli {

/// The reader of standard output has closed its pipe (`| head -1`): no error, but there is nothing
/// left to do.
class ClosedOutput : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output: closed by its reader"; }
};

/// Flushes standard output. Throws ClosedOutput, std::runtime_error if it cannot be written.
void flush_output();

/// Output: a file that is written atomically, or standard output.
class OutputWriter {
 public:
  explicit OutputWriter(const std::string& path);
  void write(const std::string& line);
  void flush() { flush_output(); }
  void commit();

 private:
  std::unique_ptr<FileWriter> file_;
};

/// Writes answers, one line each: JSON lines to standard output and to files of any name; to a
/// .csv, .tsv or .jsonl file with the number of the row and the columns of the input.
class AnswerWriter {
 public:
  /// Throws UserError for a gzipped file.
  explicit AnswerWriter(const std::string& path);

  /// `input`: the columns of the row; one called `row` or like a field of the answer gets the
  /// prefix `input_`.
  void write(const formats::Json& input, const formats::Json& answer);
  void flush() { writer_.flush(); }
  /// Puts the file in place and warns about fields that a table has no column for.
  void commit();

 private:
  void write_cells(const formats::Json& line);

  OutputWriter writer_;
  std::optional<formats::TableKind> kind_;
  int64_t rows_ = 0;
  std::vector<std::string> columns_;  // of a table: the fields of the first line
  int64_t omitted_ = 0;               // fields that the first line does not have
};

/// Returns the text as one plain line, without line end.
inline std::string plain_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace weft::cli
