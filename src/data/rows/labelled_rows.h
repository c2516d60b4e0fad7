#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/label_form.h"

namespace weft::data {

/// Texts one after another, in one block of memory.
class TextList {
 public:
  void add(std::string_view text);
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::string_view at(int64_t index) const;

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// The rows of one data item, as they stand in its files.
struct LabelledRows {
  struct File {
    std::string path;
    int64_t begin = 0;  // its first row
  };
  std::vector<File> files;
  TextList first;
  TextList second;                       // empty where the rows have one text
  TextList labels;                       // of all rows, one after another
  std::vector<int64_t> label_begins{0};  // of each row, and the end
  bool is_pair = false;
  int64_t blank_lines = 0;  // of the files; they are no rows
  int64_t repaired = 0;     // rows that were not UTF-8

  int64_t size() const { return first.size(); }
  /// Its classes or numbers, as they are written.
  std::vector<std::string_view> labels_of(int64_t row) const;
  /// `train.tsv, row 12` (rows counted from 1, the header not).
  std::string place(int64_t row) const;
};

/// Reads all files of an item; the columns as DataItem names them, else by their usual names.
/// Rows that are to be left out for want of a label have none here. Throws data::Error naming the
/// place: no such column, a row without text or label, no rows.
LabelledRows read_labelled_rows(const DataItem& item, const LabelForm& form);

/// Names of the columns with the texts of a table: one, or two for pairs. Named ones are taken as
/// they are, others found by their usual names. Throws data::Error where there is none.
std::vector<std::string> text_columns(const std::optional<std::string>& first,
                                      const std::optional<std::string>& second,
                                      const std::vector<std::string>& columns,
                                      const std::string& file);

}  // namespace weft::data
