#include <optional>
#include <string_view>
#include <vector>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/error.h"
#include "data/rows/tagged_rows.h"
#include "formats/line_reader.h"

namespace weft::data {
namespace {

constexpr std::string_view kDocumentBegin = "-DOCSTART-";

using Columns = std::vector<std::string_view>;

/// Splits a non-empty line into columns.
Columns columns_of_line(std::string_view line) {
  Columns columns;
  if (line.find('\t') != std::string_view::npos) {
    columns = split(line, '\t');
    for (auto& column : columns) {
      column = trim(column);
    }
    return columns;
  }
  for (const std::string_view part : split(line, ' ')) {
    if (!part.empty()) {
      columns.push_back(trim(part));
    }
  }
  return columns;
}

/// Reads one file.
class TaggedLines {
 public:
  TaggedLines(const DataItem& item, const std::string& file, TaggedRows& rows)
      : names_(tagged_columns(file)), lines_(file), rows_(rows) {
    word_ = named_column(item.text, "FORM", 0);
    tag_ = named_column(item.label, "UPOS", -1);
  }

  void read() {
    for (std::string_view line; lines_.next(line);) {
      const std::string_view content = trim(line);
      if (content.empty() || content.starts_with(kDocumentBegin)) {
        rows_.end_sentence();
      } else if (!is_conllu() || content.front() != '#') {
        read_word(columns_of_line(line.find('\t') == std::string_view::npos ? content : line));
      }
    }
    rows_.end_sentence();
  }

 private:
  bool is_conllu() const { return !names_.empty(); }

  /// Index of a column: as the item names it, else the usual one.
  int64_t named_column(const std::optional<std::string>& named,
                       std::string_view default_name,
                       int64_t fallback) const {
    if (named) {
      if (const auto number = column_number(*named)) {
        return *number - 1;
      }
    }
    const std::string_view wanted = named ? std::string_view(*named) : default_name;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == wanted) {
        return static_cast<int64_t>(i);
      }
    }
    return fallback;
  }

  void check_width(const Columns& columns) {
    if (columns.size() < 2) {
      fail("one column, every line must have a word and its tag, or be empty");
    }
    if (width_ == 0) {
      width_ = columns.size();
      first_ = lines_.number();
    }
    if (columns.size() != width_) {
      fail(str_cat(columns.size(), " columns, but line ", first_, " has ", width_));
    }
  }

  void read_word(const Columns& columns) {
    check_width(columns);
    if (is_conllu() && columns.front().find_first_of("-.") != std::string_view::npos) {
      return;  // 3-4 and 5.1: multiword tokens and empty nodes
    }
    const std::string_view word = at(columns, word_);
    const std::string_view tag = at(columns, tag_);
    if (word.empty() || tag.empty()) {
      fail(word.empty() ? "a tag without a word" : "a word without a tag");
    }
    if (utf8::first_invalid(tag)) {
      fail("the tag is not UTF-8");
    }
    rows_.add_word(word, tag, false, lines_.number());
  }

  std::string_view at(const Columns& columns, int64_t column) const {
    if (column >= static_cast<int64_t>(columns.size())) {
      fail(
          str_cat("column ", column + 1, " was requested, but the file has only ", columns.size()));
    }
    return column < 0 ? columns.back() : columns[static_cast<std::size_t>(column)];
  }

  [[noreturn]] void fail(std::string_view message) const {
    throw Error(str_cat(lines_.location(), ": ", message));
  }

  const std::vector<std::string>& names_;
  formats::LineReader lines_;
  TaggedRows& rows_;
  int64_t word_ = 0;
  int64_t tag_ = -1;       // last column
  std::size_t width_ = 0;  // of the first line with words
  int64_t first_ = 0;      // its line number
};

}  // namespace

void read_tagged_lines(const DataItem& item, const std::string& file, TaggedRows& rows) {
  TaggedLines(item, file, rows).read();
}

}  // namespace weft::data
