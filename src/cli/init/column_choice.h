#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/rows/table_profile.h"

namespace weft::cli {

/// Columns of a table for a task; null: none fits.
struct ColumnChoice {
  const data::ColumnProfile* text = nullptr;
  const data::ColumnProfile* text_pair = nullptr;
  const data::ColumnProfile* label = nullptr;
};

/// Chooses the columns by their usual names, else by content: the longest texts, and classes
/// (`has_classes`: the fewest distinct values) or numbers. The pointers are into `table`.
ColumnChoice choose_columns(const data::TableProfile& table, bool has_classes);

/// Columns of source and target texts, by their usual names, else the first two of texts.
ColumnChoice choose_parallel_columns(const data::TableProfile& table);

}  // namespace weft::cli
