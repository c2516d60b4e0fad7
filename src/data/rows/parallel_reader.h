#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/data_options.h"
#include "data/tokenizer_options.h"

namespace weft::data {

/// A text and its translation, or any other text that stands for it; valid until the next call.
struct TextPairView {
  std::string_view source;
  std::string_view target;
  bool begins_file = false;  // the first of its file
};

/// Reads the pairs of a data item, file by file: rows of a table, or lines of two files that are
/// aligned line by line (white space at the ends of such lines does not count). Either text may be
/// empty.
class ParallelReader {
 public:
  /// Throws data::Error and formats::Error, here and in `next`: no such column, two files with
  /// different numbers of lines, or of files, a file without pairs.
  explicit ParallelReader(const DataItem& item);
  ~ParallelReader();

  bool next(TextPairView& pair);
  /// Path of the file that is read; of two, of the sources.
  const std::string& file() const;
  /// Share of the files that is read, 0 to 1.
  double share() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// `train.tsv, row 12`, or `train.en, line 12`.
std::string parallel_place(const std::string& file, int64_t pair);

/// The columns of the texts where an item does not name them.
std::string source_column(const DataItem& item);
std::string target_column(const DataItem& item);

/// Visits both texts of every pair, those that are not UTF-8 repaired (for training a tokenizer).
void visit_parallel_texts(const std::vector<DataItem>& items, const TextVisitor& visit);

}  // namespace weft::data
