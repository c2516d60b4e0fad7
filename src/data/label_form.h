#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"

namespace weft::data {

/// Format of the labels of a row.
struct LabelFormat {
  bool is_regression = false;   // numeric labels
  bool is_multi_label = false;  // any number of classes per row
  std::string separator = {};   // between several labels in one field; empty: none
  Unlabelled unlabelled = Unlabelled::kRefuse;

  bool allows_multiple() const { return is_regression || is_multi_label; }
};

/// Reads the label fields of rows.
class LabelReader {
 public:
  /// `columns`: label columns, several if the item names several. Throws data::Error if
  /// single-label classification is requested with several columns.
  LabelReader(const DataItem& item,
              const LabelFormat& label_format,
              std::vector<std::string> columns);

  const std::vector<std::string>& columns() const { return columns_; }
  /// Returns the row's class names or numbers as written: none for a row of several labels without
  /// any. nullopt: the row lacks a label and is to be dropped. Throws data::Error at `location`.
  std::optional<std::vector<std::string>> read(
      const std::vector<std::optional<std::string>>& fields, const std::string& location) const;

 private:
  std::vector<std::string> one_field(const std::string& field) const;
  void replace_by_name(std::string& label, const std::string& location) const;
  std::vector<std::string> several_fields(const std::vector<std::optional<std::string>>& fields,
                                          const std::string& location) const;

  LabelFormat label_format_;
  std::vector<std::string> columns_;
  bool has_columns_;
  std::vector<std::string> class_names_;  // of numeric labels
};

}  // namespace weft::data
