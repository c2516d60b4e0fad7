#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"
#include "data/label_form.h"

namespace weft::data {

/// Texts stored consecutively in one block of memory.
class TextList {
 public:
  void add(std::string_view text);
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  std::string_view at(int64_t index) const;

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

/// Rows of one data item as read from its files.
struct LabelledRows {
  struct File {
    std::string path;
    int64_t begin = 0;  // its first row
  };
  std::vector<File> files;
  std::vector<int64_t> begins;  // first row of each file of the item; a directory has many `files`
  TextList first;
  TextList second;                        // empty if the rows have one text
  TextList labels;                        // of all rows, concatenated
  std::vector<int64_t> label_offsets{0};  // one per row, and the end
  std::vector<int64_t> unlabelled = {};   // rows to be dropped for lack of a label, ascending
  bool is_pair = false;
  std::vector<std::string> remarks;  // about the format of the files
  int64_t blank_lines = 0;           // in the files; not counted as rows
  int64_t repaired = 0;              // rows that were not UTF-8

  int64_t size() const { return first.size(); }
  bool lacks_label(int64_t row) const;
  /// Classes or numbers of the row, as written.
  std::vector<std::string_view> labels_of(int64_t row) const;
  /// Location such as `train.tsv, row 12` (rows counted from 1, without the header).
  std::string location(int64_t row) const;
};

/// Reads all files of an item; columns as DataItem names them, else by their usual names. Rows to
/// be dropped for lack of a label are in `unlabelled`. Throws data::Error and formats::Error
/// naming the location: no such column, a row without text or label, no rows.
LabelledRows read_labelled_rows(const DataItem& item, const LabelFormat& label_format);

/// Visits the texts of the rows that the items read.
void visit_labelled_texts(const std::vector<DataItem>& items,
                          const LabelFormat& label_format,
                          const std::function<void(std::string_view)>& visit);

/// Names of text columns, and of those with a second text, that are looked for in this order if
/// none is named.
const std::vector<std::string>& default_text_columns();
const std::vector<std::string>& default_pair_columns();

/// Returns the text columns of a table: one, or two for pairs. Named columns are returned as given,
/// others are looked up by their usual names. Throws data::Error if there is none.
std::vector<std::string> text_columns(const std::optional<std::string>& first,
                                      const std::optional<std::string>& second,
                                      const std::vector<std::string>& columns,
                                      const std::string& file);

}  // namespace weft::data
