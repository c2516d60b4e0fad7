#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "formats/error.h"
#include "formats/line_reader.h"
#include "formats/row_reader.h"

namespace weft::formats {

namespace {

constexpr int64_t kMaxRowBytes = int64_t{64} << 20;

/// Common part of CSV and TSV: a header line, then rows with as many fields.
class DelimitedReader : public RowReader {
 public:
  DelimitedReader(const std::string& path, const TableOptions& options, bool keeps_carriage_returns)
      : lines_(path,
               LineOptions{.max_line_bytes = kMaxRowBytes,
                           .keeps_carriage_returns = keeps_carriage_returns}),
        has_header_(options.has_header) {}

  const std::vector<std::string>& columns() const override { return columns_; }

  void select_columns(const std::vector<std::string>& wanted) override {
    for (const auto& column : wanted) {
      selected_.push_back(static_cast<std::size_t>(
          std::find(columns_.begin(), columns_.end(), column) - columns_.begin()));
    }
  }

  bool next(std::vector<std::optional<std::string>>& fields) override {
    std::string_view line;
    if (!std::exchange(is_row_read_, false)) {
      if (!next_line(line)) {
        return false;
      }
      read_row(line);
    }
    if (row_.size() != columns_.size()) {
      throw Error(str_cat(location(), ": a row of ", row_.size(), " fields, expected ",
                          columns_.size(), has_header_ ? " as in the header" : " as in the first"));
    }
    fields.resize(selected_.size());
    for (std::size_t index = 0; index < selected_.size(); ++index) {
      fields[index] = row_[selected_[index]];
    }
    return true;
  }

  int64_t consumed() const override { return lines_.consumed(); }
  int64_t blank_lines() const override { return blank_lines_; }
  std::string location() const override {
    // A row may span several lines: report the first.
    const auto location = lines_.location();
    return row_line_ == 0 ? location
                          : location.substr(0, location.rfind(':') + 1) + std::to_string(row_line_);
  }

 protected:
  void read_header() {
    std::string_view line;
    if (!next_line(line) || (begin_file(line) && !next_line(line))) {
      throw Error(lines_.location().substr(0, lines_.location().rfind(':')) +
                  ": empty, expected a header line with the column names");
    }
    read_row(line);
    if (has_header_) {
      columns_ = row_;
      return;
    }
    is_row_read_ = true;
    for (std::size_t number = 1; number <= row_.size(); ++number) {
      columns_.push_back(std::to_string(number));
    }
  }

  /// Sees the first line; true if it is neither the header nor a row.
  virtual bool begin_file(std::string_view /*line*/) { return false; }

  /// Splits the row that starts with this line into row_.
  virtual void read_row(std::string_view line) = 0;

  LineReader lines_;
  std::vector<std::string> row_;

 private:
  bool next_line(std::string_view& line) {
    while (lines_.next(line)) {
      if (!line.empty() && line != "\r") {
        row_line_ = lines_.number();
        return true;
      }
      ++blank_lines_;
    }
    return false;
  }

  bool has_header_;
  bool is_row_read_ = false;  // row_ has the row that `next` will return
  std::vector<std::string> columns_;
  std::vector<std::size_t> selected_;
  int64_t row_line_ = 0;
  int64_t blank_lines_ = 0;
};

class TsvReader : public DelimitedReader {
 public:
  TsvReader(const std::string& path, const TableOptions& options)
      : DelimitedReader(path, options, false) {
    read_header();
  }

 private:
  void read_row(std::string_view line) override {
    row_.clear();
    for (const auto field : split(line, '\t')) {
      row_.emplace_back(field);
    }
  }
};

class CsvReader : public DelimitedReader {
 public:
  // Carriage returns are kept, as those inside quotes belong to the text.
  CsvReader(const std::string& path, const TableOptions& options)
      : DelimitedReader(path, options, true), delimiter_(options.delimiter) {
    read_header();
  }

  std::string remark() const override {
    return is_inferred_ && *delimiter_ != ','
               ? str_cat("fields are separated by ", name_of(*delimiter_))
               : "";
  }

 private:
  static std::string name_of(char delimiter) {
    return delimiter == '\t' ? "tabs" : str_cat("'", std::string(1, delimiter), "'");
  }

  bool begin_file(std::string_view line) override {
    if (delimiter_) {
      return false;
    }
    const auto inferred = infer_delimiter(line);
    is_inferred_ = true;
    delimiter_ = inferred.delimiter;
    return inferred.is_declared;
  }

  void read_row(std::string_view line) override {
    row_.clear();
    row_bytes_ = 0;
    for (bool has_more = true; has_more;) {
      row_.emplace_back();
      if (line.starts_with('"')) {
        line.remove_prefix(1);
        read_quoted(line);
      } else {
        const auto comma = line.find(*delimiter_);
        auto field = line.substr(0, comma);
        line.remove_prefix(field.size());
        if (comma == std::string_view::npos && field.ends_with('\r')) {
          field.remove_suffix(1);
        }
        row_.back() = field;
      }
      has_more = line.starts_with(*delimiter_);
      if (has_more) {
        line.remove_prefix(1);
      } else if (!line.empty() && line != "\r") {
        throw Error(str_cat(lines_.location(), ": text after a closing quote, allowed is ",
                            *delimiter_ == ',' ? "a comma" : name_of(*delimiter_),
                            " or the end of the line"));
      }
    }
  }

  /// Reads past the closing quote, which may be on a later line.
  void read_quoted(std::string_view& line) {
    std::string& field = row_.back();
    const auto opened = location();
    for (;;) {
      const auto quote = line.find('"');
      const auto part = line.substr(0, quote);
      field += part;
      line.remove_prefix(part.size());
      row_bytes_ += static_cast<int64_t>(part.size()) + 1;
      if (line.starts_with("\"\"")) {
        field += '"';
        line.remove_prefix(2);
      } else if (line.starts_with('"')) {
        line.remove_prefix(1);
        return;
      } else if (row_bytes_ > kMaxRowBytes || !lines_.next(line)) {
        throw Error(opened + ": a quote is opened and never closed");
      } else {
        field += '\n';
      }
    }
  }

  std::optional<char> delimiter_;
  bool is_inferred_ = false;
  int64_t row_bytes_ = 0;  // quoted bytes of the row so far
};

}  // namespace

CsvDelimiter infer_delimiter(std::string_view first_line) {
  constexpr std::string_view kDeclaration = "sep=";  // as Excel writes it
  const auto line = first_line.substr(0, first_line.find_last_not_of("\r\n") + 1);
  if (line.starts_with(kDeclaration) && line.size() == kDeclaration.size() + 1) {
    return {.delimiter = line.back(), .is_declared = true};
  }
  std::array<int64_t, 256> counts{};
  bool is_quoted = false;
  for (const char c : line) {
    is_quoted = c == '"' ? !is_quoted : is_quoted;
    counts[static_cast<unsigned char>(c)] += is_quoted ? 0 : 1;
  }
  char best = ',';
  for (const char other : {';', '\t', '|'}) {
    const bool is_more_frequent =
        counts[static_cast<unsigned char>(other)] > counts[static_cast<unsigned char>(best)];
    best = counts[','] == 0 && is_more_frequent ? other : best;
  }
  return {.delimiter = best};
}

std::unique_ptr<RowReader> make_csv_reader(const std::string& path, const TableOptions& options) {
  return std::make_unique<CsvReader>(path, options);
}

std::unique_ptr<RowReader> make_tsv_reader(const std::string& path, const TableOptions& options) {
  return std::make_unique<TsvReader>(path, options);
}

}  // namespace weft::formats
