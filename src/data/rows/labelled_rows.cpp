#include "data/rows/labelled_rows.h"

#include <algorithm>
#include <filesystem>

#include "base/stop.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/error.h"
#include "data/text/text_source.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {
namespace {

using Names = std::vector<std::string>;

/// Column to read: the one that the user named, else the first of the usual names in the file.
std::optional<std::string> choose_column(const std::optional<std::string>& named,
                                         const Names& default_names,
                                         const Names& columns) {
  return named ? named : formats::first_column(default_names, columns);
}

std::string require_column(const std::string& file,
                           std::string_view key,
                           const std::optional<std::string>& column,
                           const Names& default_names,
                           const Names& columns) {
  if (!column) {
    throw Error(str_cat(file, ": no column ", join(default_names, " or "), ", choose one of ",
                        quoted_text(columns), " with `", key, ":`"));
  }
  return *column;
}

Names label_columns(const DataItem& item, const std::string& file, const Names& columns) {
  const Names default_names = {"label"};
  return item.labels.empty() ? Names{require_column(
                                   file, "label", choose_column(item.label, default_names, columns),
                                   default_names, columns)}
                             : item.labels;
}

/// Replaces invalid bytes by U+FFFD; returns whether there were any.
bool repair(std::vector<std::optional<std::string>>& fields) {
  bool was_wrong = false;
  for (auto& field : fields) {
    if (field && utf8::first_invalid(*field)) {
      field = utf8::replace_invalid(*field);
      was_wrong = true;
    }
  }
  return was_wrong;
}

/// A directory with one subdirectory per class, each with one text per .txt file.
void read_class_directory(const std::string& directory, LabelledRows& rows) {
  const auto files = text_files_in(directory);
  if (files.empty()) {
    throw Error(str_cat(directory,
                        ": a directory without .txt files, must have one subdirectory of .txt "
                        "files per class; of a table give the file, as ",
                        directory, "/train.csv"));
  }
  for (const auto& file : files) {
    const auto relative = std::filesystem::path(file).lexically_relative(directory);
    if (!relative.has_parent_path()) {
      throw Error(file + ": not in the subdirectory of a class");
    }
    std::string text;
    formats::LineReader lines(file);
    for (std::string_view line; lines.next(line);) {
      text += (text.empty() ? "" : "\n") + std::string(line);
    }
    std::vector<std::optional<std::string>> fields = {std::move(text)};
    rows.repaired += repair(fields) ? 1 : 0;
    rows.files.push_back({file, rows.size()});
    rows.first.add(*fields.front());
    rows.labels.add(relative.begin()->string());
    rows.label_offsets.push_back(rows.labels.size());
  }
}

void read_rows(const DataItem& item,
               const LabelFormat& label_format,
               const std::string& file,
               LabelledRows& rows) {
  if (std::filesystem::is_directory(file) && !label_format.is_regression) {
    return read_class_directory(file, rows);
  }
  const auto kind = formats::table_kind(file);
  if (!kind) {
    throw Error(
        str_cat(file,
                ": not a table, labelled texts must be in csv, tsv, jsonl or parquet files, or "
                "in a directory with one subdirectory of .txt files per class"));
  }
  const Names columns = formats::read_column_names(file, *kind, item.table);
  if (columns.empty() && *kind == formats::TableKind::kJsonl) {
    return;  // an empty part of a data set, which has no header either
  }
  const Names texts = text_columns(item.text, item.text_pair, columns, file);
  const LabelReader labels(item, label_format, label_columns(item, file, columns));
  const bool is_pair = texts.size() == 2;
  if (!rows.files.empty() && is_pair != rows.is_pair) {
    throw Error(str_cat(file, ": ", is_pair ? "a text pair" : "one text", " per row, but ",
                        rows.files.front().path, " has ", is_pair ? "one" : "two"));
  }
  rows.is_pair = is_pair;
  rows.files.push_back({file, rows.size()});
  Names all = texts;
  all.insert(all.end(), labels.columns().begin(), labels.columns().end());
  auto options = item.table;
  options.lists = label_format.allows_multiple() ? labels.columns() : Names{};
  formats::TableReader reader(file, *kind, all, options);
  for (const auto& remark : reader.remarks()) {
    rows.remarks.push_back(str_cat(file, ": ", remark));
  }
  std::vector<std::optional<std::string>> fields;
  while (reader.next(fields)) {
    rows.repaired += repair(fields) ? 1 : 0;
    rows.first.add(reader.require(fields[0], texts[0]));
    if (is_pair) {
      rows.second.add(reader.require(fields[1], texts[1]));
    }
    fields.erase(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(texts.size()));
    if (const auto names = labels.read(fields, reader.location())) {
      for (const auto& name : *names) {
        rows.labels.add(name);
      }
    } else {
      rows.unlabelled.push_back(rows.size() - 1);
    }
    rows.label_offsets.push_back(rows.labels.size());
  }
  rows.blank_lines += reader.blank_lines();
}

}  // namespace

void TextList::add(std::string_view text) {
  bytes_ += text;
  ends_.push_back(bytes_.size());
}

std::string_view TextList::at(int64_t index) const {
  const auto number = static_cast<std::size_t>(index);
  const std::size_t begin = number == 0 ? 0 : ends_.at(number - 1);
  return std::string_view(bytes_).substr(begin, ends_.at(number) - begin);
}

std::string LabelledRows::location(int64_t row) const {
  const auto after = std::upper_bound(files.begin(), files.end(), row,
                                      [](int64_t r, const File& file) { return r < file.begin; });
  const File& file = *(after - 1);
  return str_cat(file.path, ", row ", row - file.begin + 1);
}

bool LabelledRows::lacks_label(int64_t row) const {
  return std::binary_search(unlabelled.begin(), unlabelled.end(), row);
}

std::vector<std::string_view> LabelledRows::labels_of(int64_t row) const {
  const auto index = static_cast<std::size_t>(row);
  std::vector<std::string_view> found;
  for (int64_t i = label_offsets[index]; i < label_offsets[index + 1]; ++i) {
    found.push_back(labels.at(i));
  }
  return found;
}

const std::vector<std::string>& default_text_columns() {
  static const Names names = {"text", "sentence1", "sentence"};
  return names;
}

const std::vector<std::string>& default_pair_columns() {
  static const Names names = {"text_pair", "sentence2"};
  return names;
}

std::vector<std::string> text_columns(const std::optional<std::string>& first,
                                      const std::optional<std::string>& second,
                                      const std::vector<std::string>& columns,
                                      const std::string& file) {
  const Names& texts = default_text_columns();
  Names found = {
      require_column(file, "text", choose_column(first, texts, columns), texts, columns)};
  const auto pair = choose_column(second, default_pair_columns(), columns);
  if (pair && (second || *pair != found.front())) {
    found.push_back(*pair);
  }
  return found;
}

LabelledRows read_labelled_rows(const DataItem& item, const LabelFormat& label_format) {
  LabelledRows rows;
  for (const std::string& file : item.files) {
    rows.begins.push_back(rows.size());
    read_rows(item, label_format, file, rows);
  }
  if (rows.size() == 0) {
    throw Error(str_cat(item.path, ": no rows, must have at least one"));
  }
  return rows;
}

void visit_labelled_texts(const std::vector<DataItem>& items,
                          const LabelFormat& label_format,
                          const std::function<void(std::string_view)>& visit) {
  for (const DataItem& item : items) {
    const LabelledRows rows = read_labelled_rows(item, label_format);
    for (int64_t row = 0; row < rows.size(); ++row) {
      throw_if_stopped("reading the texts");
      if (!item.reads_row(row)) {
        continue;
      }
      visit_text(rows.first.at(row), visit);
      if (rows.is_pair) {
        visit_text(rows.second.at(row), visit);
      }
    }
  }
}

}  // namespace weft::data
