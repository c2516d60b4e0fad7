#include "data/text/text_source.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/stop.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/datasets/language_dataset.h"
#include "data/error.h"
#include "data/rows/labelled_rows.h"
#include "data/text/file_text.h"
#include "formats/byte_source.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

class PlainLineReader : public TextFileReader {
 public:
  PlainLineReader(const std::string& path, DocumentBoundary boundary)
      : lines_(
            path,
            formats::LineOptions{.max_line_bytes = TextReader::kMaxLineBytes, .splits_long = true}),
        boundary_(boundary) {}

  bool next(TextLine& line) override {
    std::string_view whole;
    while (lines_.next(whole)) {
      const bool is_piece = line_continues_;
      line_continues_ = lines_.continues();
      line_splits_ += line_continues_ ? 1 : 0;
      line.text = trim(whole);
      if (!line.text.empty()) {
        line.begins_document = std::exchange(begins_document_, false);
        begins_document_ = boundary_ == DocumentBoundary::kLine && !line_continues_;
        return true;
      }
      if (boundary_ == DocumentBoundary::kEmptyLine && !is_piece && !line_continues_) {
        begins_document_ = true;
      }
    }
    return false;
  }
  int64_t consumed() const override { return lines_.consumed(); }
  int64_t line_splits() const override { return line_splits_; }

 private:
  formats::LineReader lines_;
  DocumentBoundary boundary_;
  bool begins_document_ = true;  // whether the next line does
  bool line_continues_ = false;  // the last line was a piece, but not its last
  int64_t line_splits_ = 0;
};

/// Bytes of the next line: up to the line feed, or, for a long line, as much as ends with white
/// space or between characters.
std::size_t line_size(std::string_view remainder) {
  constexpr auto kLongest = static_cast<std::size_t>(TextReader::kMaxLineBytes);
  const std::size_t size = std::min(remainder.find('\n'), remainder.size());
  if (size <= kLongest) {
    return size;
  }
  const auto space = remainder.find_last_of(" \t", kLongest - 1);
  if (space != std::string_view::npos && space >= kLongest / 2) {
    return space + 1;
  }
  std::size_t end = kLongest;
  while (end > kLongest - 4 && (remainder[end] & 0xC0) == 0x80) {
    --end;
  }
  return end;
}

class TableLineReader : public TextFileReader {
 public:
  TableLineReader(const std::string& path,
                  const std::vector<std::string>& columns,
                  const formats::TableOptions& options)
      : table_(path, formats::table_kind(path).value(), columns, options) {}

  bool next(TextLine& line) override {
    while (true) {
      while (!remainder_.empty()) {
        const auto size = line_size(remainder_);
        const bool is_cut = size < remainder_.size() && remainder_[size] != '\n';
        line_splits_ += is_cut ? 1 : 0;
        line.text = trim(remainder_.substr(0, size));
        remainder_.remove_prefix(std::min(remainder_.size(), size + (is_cut ? 0 : 1)));
        if (!line.text.empty()) {
          line.begins_document = std::exchange(begins_document_, false);
          return true;
        }
      }
      if (!next_field()) {
        return false;
      }
    }
  }
  int64_t consumed() const override { return table_.consumed(); }
  int64_t line_splits() const override { return line_splits_; }

 private:
  bool next_field() {
    if (field_ == fields_.size()) {
      if (!table_.next(fields_)) {
        return false;
      }
      field_ = 0;
      begins_document_ = true;
    }
    if (field_ < fields_.size()) {
      const auto& field = fields_[field_++];
      remainder_ = field ? std::string_view(*field) : std::string_view();
    }
    return true;
  }

  formats::TableReader table_;
  std::vector<std::optional<std::string>> fields_;  // of the row
  std::size_t field_ = 0;                           // the next one
  std::string_view remainder_;                      // unread part of the previous field
  bool begins_document_ = true;
  int64_t line_splits_ = 0;
};

/// Whether a link to a directory makes a cycle.
bool leads_to_parent(const std::filesystem::path& link) {
  const auto target = std::filesystem::canonical(link);
  const auto parent = std::filesystem::canonical(link.parent_path());
  const auto [end, unused] =
      std::mismatch(target.begin(), target.end(), parent.begin(), parent.end());
  return end == target.end();
}

}  // namespace

std::vector<std::string> text_files_in(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  fs::recursive_directory_iterator entries(directory,
                                           fs::directory_options::follow_directory_symlink);
  for (; entries != fs::recursive_directory_iterator(); ++entries) {
    const auto& entry = *entries;
    auto path = entry.path().string();
    if (entry.is_symlink() && entry.is_directory() && leads_to_parent(entry.path())) {
      entries.disable_recursion_pending();
    } else if (entry.is_regular_file() && formats::without_compression(path).ends_with(".txt")) {
      files.push_back(std::move(path));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

DataItem with_text_files(DataItem item) {
  std::vector<std::string> files;
  for (auto& file : item.files) {
    if (std::filesystem::is_directory(file)) {
      std::ranges::move(text_files_in(file), std::back_inserter(files));
    } else {
      files.push_back(std::move(file));
    }
  }
  item.files = std::move(files);
  return item;
}

std::vector<std::string> text_columns(const DataItem& item,
                                      const std::string& file,
                                      TextColumns columns) {
  const auto present =
      formats::read_column_names(file, formats::table_kind(file).value(), item.table);
  const auto first = item.text ? item.text : formats::first_column(default_text_columns(), present);
  if (!first && !present.empty()) {
    throw Error(str_cat(file,
                        ": no column text, sentence1 or sentence, and the data item does not name "
                        "its text column; the columns are ",
                        quoted_text(present)));
  }
  std::vector<std::string> found{first.value_or(default_text_columns().front())};
  auto second = item.text_pair;
  if (!second && columns == TextColumns::kAll) {
    second = formats::first_column(default_pair_columns(), present);
  }
  if (second && *second != found.front()) {
    found.push_back(*second);
  }
  return found;
}

struct TextReader::State {
  State(const DataItem& data_item, const DataOptions& options, TextColumns which)
      : item(with_text_files(data_item)),
        boundary(options.document),
        takes_documents(options.sentence == SentenceBoundary::kNone),
        columns(which) {
    for (const auto& file : item.files) {
      std::error_code unknown;
      const auto size = std::filesystem::file_size(file, unknown);
      sizes.push_back(unknown ? 0 : static_cast<int64_t>(size));
    }
  }

  void open() {
    const auto& file = item.files[index];
    const bool is_table = formats::table_kind(file).has_value();
    if (is_table && takes_documents) {
      reading = make_row_reader(file, text_columns(item, file, columns), item.table);
    } else if (is_table) {
      reading =
          std::make_unique<TableLineReader>(file, text_columns(item, file, columns), item.table);
    } else if (takes_documents) {
      reading = make_document_reader(file, boundary);
    } else {
      reading = std::make_unique<PlainLineReader>(file, boundary);
    }
  }

  DataItem item;
  DocumentBoundary boundary;
  bool takes_documents;  // whole and unchanged
  TextColumns columns;
  std::vector<int64_t> sizes;
  std::size_t index = 0;  // of the current file
  std::unique_ptr<TextFileReader> reading;
  int64_t line_splits = 0;  // in the files before
};

TextReader::TextReader(const DataItem& item, const DataOptions& options, TextColumns columns)
    : state_(std::make_unique<State>(item, options, columns)) {}

TextReader::~TextReader() = default;

bool TextReader::next(TextLine& line) {
  auto& state = *state_;
  while (state.index < state.item.files.size()) {
    if (!state.reading) {
      state.open();
    }
    if (state.reading->next(line)) {
      return true;
    }
    state.line_splits += state.reading->line_splits();
    state.reading.reset();
    ++state.index;
  }
  return false;
}

const std::string& TextReader::file() const {
  const auto& files = state_->item.files;
  return files.empty() ? state_->item.path : files[std::min(state_->index, files.size() - 1)];
}

double TextReader::fraction_read() const {
  int64_t done = state_->reading ? state_->reading->consumed() : 0;
  int64_t all = 0;
  for (std::size_t index = 0; index < state_->sizes.size(); ++index) {
    done += index < state_->index ? state_->sizes[index] : 0;
    all += state_->sizes[index];
  }
  return all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 1.0;
}

int64_t TextReader::line_splits() const {
  return state_->line_splits + (state_->reading ? state_->reading->line_splits() : 0);
}

void visit_text(std::string_view text, const std::function<void(std::string_view)>& visit) {
  utf8::first_invalid(text) ? visit(utf8::replace_invalid(text)) : visit(text);
}

void visit_texts(const std::vector<DataItem>& items,
                 const DataOptions& options,
                 const std::function<void(std::string_view)>& visit) {
  for (const auto& item : items) {
    TextReader reader(item, options, TextColumns::kAll);
    for (TextLine line; reader.next(line);) {
      throw_if_stopped("reading the texts");
      visit_text(line.text, visit);
    }
  }
}

}  // namespace weft::data
