#include <algorithm>
#include <array>

#include "base/string_util.h"
#include "formats/byte_source.h"
#include "formats/row_reader.h"
#include "formats/table_reader.h"

namespace weft::formats {

namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

std::string read_all(const std::string& path) {
  const auto source = open_bytes(path);
  std::string bytes;
  std::array<char, std::size_t{1} << 16> block{};
  while (const auto count = source->read(block.data(), block.size())) {
    bytes.append(block.data(), count);
  }
  return bytes;
}

std::size_t end_of_line(std::string_view text, std::size_t begin) {
  const auto line_feed = text.find('\n', begin);
  return line_feed == std::string_view::npos ? text.size() : line_feed + 1;
}

/// Position after the quote that closes the field opened before `begin`.
std::size_t end_of_quotes(std::string_view text, std::size_t begin) {
  for (;;) {
    const auto quote = text.find('"', begin);
    if (quote == std::string_view::npos) {
      return text.size();
    }
    if (!text.substr(quote + 1).starts_with('"')) {
      return quote + 1;
    }
    begin = quote + 2;
  }
}

/// A quoted field, which starts with a quote, may contain line ends.
std::size_t end_of_csv_row(std::string_view text, std::size_t begin, char delimiter) {
  const char ends[] = {delimiter, '\n', '\0'};
  for (;;) {
    if (text.substr(begin).starts_with('"')) {
      begin = end_of_quotes(text, begin + 1);
    }
    begin = std::min(text.size(), text.find_first_of(ends, begin));
    if (begin == text.size()) {
      return begin;
    }
    if (text[begin++] == '\n') {
      return begin;
    }
  }
}

bool is_blank(std::string_view row, TableKind kind) {
  return kind == TableKind::kJsonl ? trim(row).empty() : row == "\n" || row == "\r\n";
}

}  // namespace

RawRecords read_raw_records(const std::string& path, TableKind kind, const TableOptions& options) {
  const std::string bytes = read_all(path);
  const bool has_mark = bytes.starts_with(kUtf8Mark);
  const auto text = std::string_view(bytes).substr(has_mark ? kUtf8Mark.size() : 0);
  RawRecords result;
  bool needs_header = kind != TableKind::kJsonl && options.has_header;
  const auto inferred = infer_delimiter(text.substr(0, end_of_line(text, 0)));
  const char delimiter = options.delimiter.value_or(inferred.delimiter);
  bool is_declared = kind == TableKind::kCsv && !options.delimiter && inferred.is_declared;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end =
        kind == TableKind::kCsv ? end_of_csv_row(text, begin, delimiter) : end_of_line(text, begin);
    std::string row(text.substr(begin, end - begin));
    begin = end;
    if (!row.ends_with('\n')) {
      row += '\n';
    }
    if (is_blank(row, kind)) {
      continue;
    }
    if (needs_header || is_declared) {
      result.header += (has_mark && result.header.empty() ? std::string(kUtf8Mark) : "") + row;
      needs_header = needs_header && is_declared;
      is_declared = false;
    } else {
      result.rows.push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace weft::formats
