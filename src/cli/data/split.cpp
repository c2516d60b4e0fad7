#include "data/split.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "cli/command.h"
#include "cli/data/data.h"
#include "data/rows/labelled_rows.h"
#include "data/split_rows.h"
#include "data/text/text_shingles.h"
#include "formats/byte_source.h"
#include "formats/table_reader.h"

namespace weft::cli {
namespace {

/// The files of one format, as one table.
struct SplitTable {
  std::string ending;  // `.tsv`
  std::string header;
  std::vector<std::string> rows;
  std::vector<data::SplitRow> keys;  // of the rows
};

formats::TableKind kind_of_table(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw UserError(str_cat(path,
                            ": a folder; images are split without copying them: set "
                            "data.split.evaluate and data.split.test in the config"));
  }
  const auto kind = formats::table_kind(path);
  if (!kind || *kind == formats::TableKind::kParquet) {
    throw UserError(path +
                    ": must be a csv, tsv or jsonl file (data.split in the config also splits "
                    "Parquet files, tagged sentences and images)");
  }
  return *kind;
}

formats::TableOptions table_options(const Arguments& arguments) {
  return {.has_header = !arguments.has("no-header")};
}

/// Columns that make rows duplicates: the usual text columns; empty: the whole row.
std::vector<std::string> content_columns(const std::vector<std::string>& columns) {
  std::vector<std::string> found;
  for (const auto* names : {&data::default_text_columns(), &data::default_pair_columns()}) {
    if (auto name = formats::first_column(*names, columns)) {
      found.push_back(*std::move(name));
    }
  }
  return found;
}

std::optional<std::string> label_column(const Arguments& arguments,
                                        const std::vector<std::string>& columns) {
  if (arguments.has("label")) {
    return arguments.get("label");
  }
  return formats::find_column("label", columns);
}

/// Class, content and group of the rows of one file.
void add_keys(const Arguments& arguments,
              const std::string& path,
              formats::TableKind kind,
              const std::vector<std::string>& rows,
              std::vector<data::SplitRow>& keys) {
  auto options = table_options(arguments);
  const auto names = formats::read_column_names(path, kind, options);
  auto columns = content_columns(names);
  const auto contents = columns.size();
  const auto label = label_column(arguments, names);
  if (label) {
    columns.push_back(*label);
  }
  options.lists = label ? std::vector{*label} : names;
  formats::TableReader reader(path, kind, columns, options);
  std::size_t row = 0;
  for (std::vector<std::optional<std::string>> fields; reader.next(fields); ++row) {
    auto& key = keys.emplace_back();
    for (std::size_t i = 0; i < contents; ++i) {
      key.content = data::digest_of_words(fields[i].value_or(""), key.content);
    }
    if (contents == 0 && row < rows.size()) {
      key.content = digest(trim(rows[row]));
    }
    key.label = label ? fields.back().value_or("") : "";
  }
  if (row != rows.size()) {
    throw UserError(str_cat(path, ": ", row, " rows, but ", rows.size(), " lines"));
  }
}

void add_table(const Arguments& arguments, const std::string& path, SplitTable& table) {
  const auto kind = kind_of_table(path);
  const auto ending =
      std::filesystem::path(formats::without_compression(path)).extension().string();
  const auto records = formats::read_raw_records(path, kind, table_options(arguments));
  const bool is_first = table.ending.empty();
  if (!is_first && (ending != table.ending || trim(records.header) != trim(table.header))) {
    throw UserError(str_cat(path,
                            ": other columns or format than the first file, all files must "
                            "be alike"));
  }
  table.ending = ending;
  table.header = is_first ? records.header : table.header;
  data::DataItem item;
  item.path = path;
  item.files = {path};
  item.table = table_options(arguments);
  data::SplitRows rows;
  add_keys(arguments, path, kind, records.rows, rows.rows);
  if (arguments.has("group")) {
    data::read_groups(item, arguments.get("group"), rows);
  }
  table.rows.insert(table.rows.end(), records.rows.begin(), records.rows.end());
  table.keys.insert(table.keys.end(), rows.rows.begin(), rows.rows.end());
}

std::optional<double> size_option(const Arguments& arguments, const std::string& name) {
  if (!arguments.has(name)) {
    return std::nullopt;
  }
  const double size = arguments.number(name, 0, 0, 1e15);
  if (size == 0 || (size >= 1 && size != static_cast<double>(static_cast<int64_t>(size)))) {
    arguments.fail(str_cat("--", name, " ", arguments.get(name),
                           ": must be a fraction below 1 or a whole number of rows"));
  }
  return size;
}

void write_parts(const SplitTable& table, const data::Split& split, const std::string& directory) {
  make_directories(directory);
  for (const auto& [name, part] : data::kSplitParts) {
    const auto count = std::count(split.parts.begin(), split.parts.end(), part);
    if (count == 0) {
      continue;
    }
    const auto path = str_cat(directory, "/", name, table.ending);
    FileWriter file(path);
    file.write(table.header);
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (split.parts[row] == part) {
        file.write(table.rows[row]);
      }
    }
    file.commit();
    std::cout << name << ": " << with_commas(count) << " rows in " << path << "\n";
  }
}

}  // namespace

int run_data_split(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage =
           "weft data split FILE [FILE ...] --evaluate SIZE --test SIZE --output DIR [options]",
       .description =
           "Divides tables (csv, tsv, jsonl; several files count as one) into DIR/train, "
           "DIR/evaluate and DIR/test. Lines are copied byte for byte, the header is repeated. "
           "Duplicates stay in one file: rows with the same words in the columns text, sentence1 "
           "or sentence and text_pair or sentence2, else equal rows. Classes are divided in "
           "proportion. A config does the same without copies: data.split.",
       .examples =
           {"weft data split data/reviews.tsv --evaluate 0.1 --test 0.1 --output data/parts",
            "weft data split visits.csv --test 500 --group patient --label diagnosis "
            "--output parts --seed 3"}},
      1, 100000);
  arguments.value("evaluate", "SIZE", "evaluation rows: a fraction (0.1) or a number of rows (500)")
      .value("test", "SIZE", "test rows, given the same way")
      .value("output", "DIR", "directory for the files; existing ones are replaced")
      .value("label", "COLUMN", "column of the classes (default: `label`, if there is one)")
      .value("group", "COLUMN", "column of groups, whose rows stay in one file")
      .flag("no-header", "csv and tsv files have no header; columns are given by number")
      .value("seed", "N", "random seed (default: 1)");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const data::SplitOptions options{
      .evaluate = size_option(arguments, "evaluate"),
      .test = size_option(arguments, "test"),
      .group = arguments.has("group") ? std::optional(arguments.get("group")) : std::nullopt,
      .seed = std::nullopt};
  if (!options.is_used() || !arguments.has("output")) {
    arguments.fail("needs --output DIR and --evaluate SIZE, --test SIZE or both");
  }
  const auto seed = arguments.integer("seed", 1, 0, INT64_MAX);
  SplitTable table;
  for (const auto& path : arguments.positional()) {
    add_table(arguments, path, table);
  }
  const auto split = data::assign_split(table.keys, options, static_cast<uint64_t>(seed));
  for (const auto& remark : split.remarks) {
    log::info("[data] " + remark);
  }
  write_parts(table, split, arguments.get("output"));
  return 0;
}

}  // namespace weft::cli
