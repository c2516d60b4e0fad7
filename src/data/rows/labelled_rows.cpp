#include "data/rows/labelled_rows.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "data/error.h"
#include "formats/in_quotes.h"
#include "formats/table.h"

namespace weft::data {
namespace {

using Names = std::vector<std::string>;

std::optional<std::string> first_of(const Names& wanted, const Names& columns) {
  for (const std::string& name : wanted) {
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
      return name;
    }
  }
  return std::nullopt;
}

/// The column to read: the one that the user named, else the first of the usual names that the file
/// has.
std::optional<std::string> choose_column(const std::optional<std::string>& named,
                                         const Names& usual,
                                         const Names& columns) {
  return named ? named : first_of(usual, columns);
}

std::string require_column(const std::string& file,
                           std::string_view key,
                           const std::optional<std::string>& chosen,
                           const Names& usual,
                           const Names& columns) {
  if (!chosen) {
    throw Error(text(file, ": no column ", join(usual, " or "), ", name one of ",
                     formats::in_quotes(columns), " by `", key, ":`"));
  }
  return *chosen;
}

Names label_columns(const DataItem& item, const std::string& file, const Names& columns) {
  const Names usual = {"label"};
  return item.labels.empty()
             ? Names{require_column(file, "label", choose_column(item.label, usual, columns), usual,
                                    columns)}
             : item.labels;
}

/// A reader of the texts' columns, then the labels'.
formats::TableReader open_table(const std::string& file,
                                formats::TableKind kind,
                                const Names& texts,
                                const Names& labels,
                                const LabelForm& form) {
  Names all = texts;
  all.insert(all.end(), labels.begin(), labels.end());
  return {file, kind, all, form.takes_several() ? labels : Names{}};
}

/// Puts U+FFFD for bytes that are wrong; whether there were any.
bool repair(std::vector<std::optional<std::string>>& fields) {
  bool was_wrong = false;
  for (auto& field : fields) {
    if (field && utf8::first_invalid(*field)) {
      field = utf8::repaired(*field);
      was_wrong = true;
    }
  }
  return was_wrong;
}

void read_rows(const DataItem& item,
               const LabelForm& form,
               const std::string& file,
               LabelledRows& rows) {
  const auto kind = formats::table_kind(file);
  if (!kind) {
    throw Error(text(file, ": not a table, labelled texts must be in csv, tsv or jsonl files"));
  }
  const Names columns = formats::columns_of(file, *kind);
  const Names texts = text_columns(item.text, item.text_pair, columns, file);
  const LabelReader labels(item, form, label_columns(item, file, columns));
  const bool is_pair = texts.size() == 2;
  if (!rows.files.empty() && is_pair != rows.is_pair) {
    throw Error(text(file, ": ", is_pair ? "two texts" : "one text", " in a row, but ",
                     rows.files.front().path, " has ", is_pair ? "one" : "two"));
  }
  rows.is_pair = is_pair;
  rows.files.push_back({file, rows.size()});
  auto reader = open_table(file, *kind, texts, labels.columns(), form);
  std::vector<std::optional<std::string>> fields;
  while (reader.next(fields)) {
    rows.repaired += repair(fields) ? 1 : 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!fields[i]) {
        throw Error(text(reader.place(), ": no `", texts[i], "`, every row must have one"));
      }
    }
    rows.first.add(*fields[0]);
    if (is_pair) {
      rows.second.add(*fields[1]);
    }
    fields.erase(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(texts.size()));
    for (const auto& name : labels.read(fields, reader.place())) {
      rows.labels.add(name);
    }
    rows.label_begins.push_back(rows.labels.size());
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

std::string LabelledRows::place(int64_t row) const {
  const auto after = std::upper_bound(files.begin(), files.end(), row,
                                      [](int64_t r, const File& file) { return r < file.begin; });
  const File& file = *(after - 1);
  return text(file.path, ", row ", row - file.begin + 1);
}

std::vector<std::string_view> LabelledRows::labels_of(int64_t row) const {
  const auto place = static_cast<std::size_t>(row);
  std::vector<std::string_view> found;
  for (int64_t i = label_begins[place]; i < label_begins[place + 1]; ++i) {
    found.push_back(labels.at(i));
  }
  return found;
}

std::vector<std::string> text_columns(const std::optional<std::string>& first,
                                      const std::optional<std::string>& second,
                                      const std::vector<std::string>& columns,
                                      const std::string& file) {
  const Names texts = {"text", "sentence1", "sentence"};
  const Names pairs = {"text_pair", "sentence2"};
  Names found = {
      require_column(file, "text", choose_column(first, texts, columns), texts, columns)};
  if (const auto pair = choose_column(second, pairs, columns)) {
    found.push_back(*pair);
  }
  return found;
}

LabelledRows read_labelled_rows(const DataItem& item, const LabelForm& form) {
  LabelledRows rows;
  for (const std::string& file : item.files) {
    read_rows(item, form, file, rows);
  }
  if (rows.size() == 0) {
    throw Error(text(item.path, ": no rows, must have at least one"));
  }
  return rows;
}

}  // namespace weft::data
