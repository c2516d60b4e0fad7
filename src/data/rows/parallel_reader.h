#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/data_options.h"
#include "data/tokenizer_options.h"

namespace weft::data {

/// A text and its translation, or any other source and target; valid until the next call.
struct TextPairView {
  std::string_view source;
  std::string_view target;
  bool begins_file = false;  // the first of its file
};

/// Reads the pairs of a data item, file by file: rows of a table, or lines of two files that are
/// aligned line by line (leading and trailing white space is stripped from lines). Either text may
/// be empty.
class ParallelReader {
 public:
  /// Throws data::Error and formats::Error, here and in `next`: no such column, different numbers
  /// of lines or of files on the two sides, a file without pairs.
  explicit ParallelReader(const DataItem& item);
  ~ParallelReader();

  bool next(TextPairView& pair);
  /// Path of the current file; for two files, that of the sources.
  const std::string& file() const;
  /// Fraction of the files read so far, 0 to 1.
  double fraction_read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Location such as `train.tsv, row 12` or `train.en, line 12`.
std::string parallel_location(const std::string& file, int64_t pair);

/// Columns of the texts; default names if the item names none.
std::string source_column(const DataItem& item);
std::string target_column(const DataItem& item);

/// Visits both texts of every pair, with invalid UTF-8 repaired (for training a tokenizer).
void visit_parallel_texts(const std::vector<DataItem>& items, const TextVisitor& visit);

}  // namespace weft::data
