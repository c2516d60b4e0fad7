#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/label_form.h"
#include "data/rows/tagged_rows.h"

namespace weft::data {

/// What must be known of a row to assign it to a part of the data.
struct SplitRow {
  std::string label = {};   // class, for stratification; empty: none
  uint64_t content = 0;     // hash; rows with the same one are duplicates
  uint64_t group = 0;       // hash of the value of the group column; 0: no groups
  bool is_dropped = false;  // has no label: in no part
};

/// The rows of one data item, in the order in which its dataset counts them.
struct SplitRows {
  struct File {
    std::string path;
    int64_t begin = 0;  // its first row
  };
  std::vector<File> files;
  std::vector<SplitRow> rows;
};

/// Rows of labelled texts: duplicates have the same words (normalize_text); of several classes the
/// first counts; regression rows have no class. Throws data::Error.
SplitRows labelled_split_rows(const DataItem& item, const LabelFormat& label_format);

/// Sentences of tagged words or documents of tagged sentences, without classes: duplicates have the
/// same words.
SplitRows tagged_split_rows(const DataItem& item, TaggedUnit unit = TaggedUnit::kWord);

/// Images: duplicates have the same bytes. `needs_labels`: false for images without classes.
SplitRows image_split_rows(const DataItem& item, bool needs_labels);

/// Fills in the groups of the rows from this column of the item's tables. Throws data::Error: not a
/// table, no such column, a row without a group.
void read_groups(const DataItem& item, const std::string& column, SplitRows& rows);

}  // namespace weft::data
