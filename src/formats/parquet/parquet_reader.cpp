// Parquet (https://parquet.apache.org/docs/file-format) with a decoder of our own: Debian has no
// library for it, and that of PyPI (pyarrow) exports a third protobuf, which SentencePiece and
// LibTorch do not survive in one process.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/parquet/column_reader.h"
#include "formats/parquet/metadata.h"
#include "formats/row_reader.h"

namespace weft::formats {

namespace {

class ParquetReader : public RowReader {
 public:
  explicit ParquetReader(const std::string& path) : path_(path), file_(path) {
    try {
      metadata_ = read_parquet_metadata(file_.text());
    } catch (const Error& error) {
      throw Error(str_cat(path_, ": ", error.what()));
    }
    for (const auto& column : metadata_.columns) {
      names_.push_back(column.name);
    }
  }

  const std::vector<std::string>& columns() const override { return names_; }

  std::vector<std::pair<std::string, std::string>> unreadable_columns() const override {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& column : metadata_.columns) {
      try {
        with_location(column.name, [&] { reader_of(column); });
      } catch (const Error& error) {
        found.emplace_back(column.name, error.what());
      }
    }
    return found;
  }

  void select_columns(const std::vector<std::string>& wanted) override {
    for (const auto& name : wanted) {
      const auto number =
          static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
      with_location(
          name, [&] { selected_.emplace_back(number, reader_of(metadata_.columns.at(number))); });
    }
  }

  void allow_lists(const std::vector<std::string>& wanted) override {
    for (auto& [number, column] : selected_) {
      if (std::find(wanted.begin(), wanted.end(), names_[number]) != wanted.end()) {
        column.allow_lists();
      }
    }
  }

  bool next(std::vector<std::optional<std::string>>& fields) override {
    while (rows_left_ == 0) {
      if (next_group_ == metadata_.groups.size()) {
        return false;
      }
      const auto& group = metadata_.groups[next_group_++];
      rows_left_ = group.rows;
      for (auto& [number, column] : selected_) {
        column.begin(group.chunks[number]);
      }
    }
    --rows_left_;
    ++row_;
    fields.resize(selected_.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      auto& [number, column] = selected_[i];
      with_location(names_[number], [&, &reader = column] { fields[i] = reader.next(); });
    }
    return true;
  }

  std::string location() const override {
    return row_ == 0 ? path_ : str_cat(path_, ", row ", row_);
  }

  /// Pages of several columns are read at once, so this is the share of the rows.
  int64_t consumed() const override {
    const double share = static_cast<double>(row_) / static_cast<double>(metadata_.rows);
    return metadata_.rows == 0
               ? 0
               : static_cast<int64_t>(share * static_cast<double>(file_.bytes().size()));
  }
  int64_t blank_lines() const override { return 0; }

 private:
  ParquetColumnReader reader_of(const ParquetColumn& column) const {
    return {file_.text().substr(0, metadata_.begin), column};
  }

  template <class Read>
  void with_location(const std::string& column, const Read& read) const {
    try {
      read();
    } catch (const Error& error) {
      throw Error(str_cat(location(), ": column ", quoted_text(column), ": ", error.what()));
    }
  }

  std::string path_;
  MappedFile file_;
  ParquetMetadata metadata_;
  std::vector<std::string> names_;
  std::vector<std::pair<std::size_t, ParquetColumnReader>> selected_;  // with the column's number
  std::size_t next_group_ = 0;
  int64_t rows_left_ = 0;  // in the row group
  int64_t row_ = 0;        // the last one read, from 1
};

}  // namespace

std::unique_ptr<RowReader> make_parquet_reader(const std::string& path) {
  return std::make_unique<ParquetReader>(path);
}

}  // namespace weft::formats
