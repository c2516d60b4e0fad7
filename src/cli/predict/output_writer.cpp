#include "cli/predict/output_writer.h"

#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/string_util.h"

namespace weft::cli {

namespace {

using formats::Json;

/// Whether nobody reads the pipe of standard output any more.
bool is_pipe_closed() {
  pollfd state{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
}

/// Adds the fields of an answer to `cells`; those of objects with dotted names, as JSON lines are
/// read.
void add_cells(Json& cells, const std::string& prefix, const Json& value) {
  if (!value.is_object()) {
    cells[prefix] = value;
    return;
  }
  for (const auto& [name, field] : value.items()) {
    add_cells(cells, prefix.empty() ? name : prefix + "." + name, field);
  }
}

/// Texts may contain bytes that are not UTF-8; JSON must not.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cell_text(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : dumped(value);
}

/// RFC 4180: quoted where necessary, quotes doubled.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char character : text) {
    quoted += character == '"' ? std::string(2, '"') : std::string(1, character);
  }
  return quoted + "\"";
}

/// TSV has no quotes: tabs and line ends become spaces.
std::string tsv_cell(std::string text) {
  for (char& character : text) {
    character = character == '\t' || character == '\n' || character == '\r' ? ' ' : character;
  }
  return text;
}

std::string table_line(const std::vector<std::string>& cells, formats::TableKind kind) {
  const bool is_csv = kind == formats::TableKind::kCsv;
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += i == 0 ? "" : is_csv ? "," : "\t";
    line += is_csv ? csv_cell(cells[i]) : tsv_cell(cells[i]);
  }
  return line + "\n";
}

/// Whether the answer has this column, alone or as a part such as `scores.ham` of `scores`.
bool has_column(const Json& answer, const std::string& column) {
  const auto whole = answer.find(column.substr(0, column.find('.')));
  return answer.contains(column) || (whole != answer.end() && whole->is_object());
}

/// Row number, columns of the input, answer. The prefix of a column depends on names alone, so that
/// all rows have the same columns.
Json joined(int64_t row, const Json& input, const Json& answer) {
  Json line = {{"row", row}};
  for (const auto& [name, value] : input.items()) {
    std::string column = name;
    while (column == "row" || has_column(answer, column) ||
           (column != name && input.contains(column))) {
      column.insert(0, "input_");
    }
    line[column] = value;
  }
  line.update(answer);
  return line;
}

}  // namespace

void flush_output() {
  std::cout.flush();
  if (!std::cout) {
    if (is_pipe_closed()) {
      throw ClosedOutput();
    }
    throw std::runtime_error("standard output: cannot write (closed or full)");
  }
}

OutputWriter::OutputWriter(const std::string& path) {
  for (const std::string_view ending : {".gz", ".zst", ".parquet"}) {
    if (path.ends_with(ending)) {
      throw UserError(
          str_cat(path, ": output in ", ending, " files is not supported, omit ", ending));
    }
  }
  if (path != "-") {
    file_ = std::make_unique<FileWriter>(path);
  }
}

void OutputWriter::write(const std::string& line) {
  if (file_) {
    file_->write(line);
  } else {
    std::cout << line;
  }
}

void OutputWriter::commit() {
  if (file_) {
    file_->commit();
  }
}

AnswerWriter::AnswerWriter(const std::string& path)
    : writer_(path), kind_(formats::table_kind(path)) {}

void AnswerWriter::write(const Json& input, const Json& answer) {
  ++rows_;
  const auto line = kind_ ? joined(rows_, input, answer) : answer;
  if (!kind_ || *kind_ == formats::TableKind::kJsonl) {
    writer_.write(dumped(line) + "\n");
  } else {
    write_cells(line);
  }
}

void AnswerWriter::write_cells(const Json& line) {
  Json cells = Json::object();
  add_cells(cells, "", line);
  if (rows_ == 1) {
    for (const auto& [name, value] : cells.items()) {
      columns_.push_back(name);
    }
    writer_.write(table_line(columns_, *kind_));
  }
  std::vector<std::string> texts;
  std::size_t present = 0;
  for (const auto& column : columns_) {
    const bool is_there = cells.contains(column);
    present += is_there ? 1 : 0;
    texts.push_back(is_there ? cell_text(cells[column]) : "");
  }
  omitted_ += static_cast<int64_t>(cells.size() - present);
  writer_.write(table_line(texts, *kind_));
}

void AnswerWriter::commit() {
  writer_.commit();
  if (omitted_ > 0) {
    log::warning(str_cat("[predict] ", counted(omitted_, "field"), " ", was_or_were(omitted_),
                         " left out, missing in the first row; a .jsonl file has all"));
  }
}

}  // namespace weft::cli
