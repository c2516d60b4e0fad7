#include "data/rows/parallel_reader.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/stop.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/text/text_source.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

/// One file, or two aligned ones.
class PairFileReader {
 public:
  virtual ~PairFileReader() = default;
  virtual bool next(TextPairView& pair) = 0;
  virtual int64_t consumed() const = 0;
};

class AlignedLineReader : public PairFileReader {
 public:
  AlignedLineReader(const std::string& source, const std::string& target)
      : names_{source, target}, source_(source), target_(target) {}

  bool next(TextPairView& pair) override {
    std::string_view source;
    std::string_view target;
    const bool has_source = source_.next(source);
    const bool has_target = target_.next(target);
    if (has_source != has_target) {
      fail_counts(has_source);
    }
    pair.source = trim(source);
    pair.target = trim(target);
    return has_source;
  }

  int64_t consumed() const override { return source_.consumed(); }

 private:
  /// Reads the longer file to its end, to report both line counts.
  [[noreturn]] void fail_counts(bool source_is_longer) {
    auto& longer = source_is_longer ? source_ : target_;
    const auto& shorter = source_is_longer ? target_ : source_;
    for (std::string_view line; longer.next(line);) {
      throw_if_stopped("reading the texts");
    }
    const auto sources = (source_is_longer ? longer : shorter).number();
    const auto targets = (source_is_longer ? shorter : longer).number();
    throw Error(
        str_cat(names_[0], ": ", with_commas(sources), " lines, but ", names_[1], " has ",
                with_commas(targets),
                ": files with translations of each other must have the same number of lines"));
  }

  std::string names_[2];
  formats::LineReader source_;
  formats::LineReader target_;
};

class TablePairReader : public PairFileReader {
 public:
  TablePairReader(const std::string& path, const DataItem& item)
      : names_{source_column(item), target_column(item)},
        table_(path, kind_of(path), {names_[0], names_[1]}, item.table) {}

  bool next(TextPairView& pair) override {
    if (!table_.next(fields_)) {
      return false;
    }
    pair.source = table_.require(fields_[0], names_[0]);
    pair.target = table_.require(fields_[1], names_[1]);
    return true;
  }

  int64_t consumed() const override { return table_.consumed(); }

 private:
  static formats::TableKind kind_of(const std::string& path) {
    const auto kind = formats::table_kind(path);
    if (!kind) {
      throw Error(
          str_cat(path,
                  ": not a table: text pairs must be in csv, tsv, jsonl or parquet files, or in "
                  "two files, {source: ",
                  path, ", target: ...}"));
    }
    return *kind;
  }

  std::string names_[2];
  formats::TableReader table_;
  std::vector<std::optional<std::string>> fields_;
};

int64_t parallel_size_of(const std::string& file) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(file, unknown);
  return unknown ? 0 : static_cast<int64_t>(size);
}

}  // namespace

std::string source_column(const DataItem& item) {
  return item.target_files.empty() ? item.source.value_or("source") : "";
}

std::string target_column(const DataItem& item) {
  return item.target_files.empty() ? item.target.value_or("target") : "";
}

std::string parallel_location(const std::string& file, int64_t pair) {
  return str_cat(file, formats::table_kind(file) ? ", row " : ", line ", pair + 1);
}

struct ParallelReader::State {
  explicit State(const DataItem& data_item) : item(data_item) {
    if (!item.target_files.empty() && item.files.size() != item.target_files.size()) {
      throw Error(str_cat(item.source.value_or(""), ": ", item.files.size(), " files, but ",
                          item.target.value_or(""), " matches ", item.target_files.size(),
                          ": the number of files must be equal"));
    }
    for (const auto& file : item.files) {
      all += parallel_size_of(file);
    }
  }

  void open() {
    const auto& file = item.files[index];
    if (item.target_files.empty()) {
      reading = std::make_unique<TablePairReader>(file, item);
    } else {
      reading = std::make_unique<AlignedLineReader>(file, item.target_files[index]);
    }
    begins_file = true;
  }

  DataItem item;
  std::size_t index = 0;  // of the current file
  std::unique_ptr<PairFileReader> reading;
  bool begins_file = true;
  int64_t done = 0;  // bytes of the files before
  int64_t all = 0;
};

ParallelReader::ParallelReader(const DataItem& item) : state_(std::make_unique<State>(item)) {}
ParallelReader::~ParallelReader() = default;

bool ParallelReader::next(TextPairView& pair) {
  auto& state = *state_;
  while (state.index < state.item.files.size()) {
    if (!state.reading) {
      state.open();
    }
    if (state.reading->next(pair)) {
      pair.begins_file = std::exchange(state.begins_file, false);
      return true;
    }
    if (state.begins_file) {
      throw Error(
          str_cat(state.item.files[state.index], ": no text pairs, must have at least one"));
    }
    state.reading.reset();
    state.done += parallel_size_of(state.item.files[state.index]);
    ++state.index;
  }
  return false;
}

const std::string& ParallelReader::file() const {
  const auto& files = state_->item.files;
  return files.empty() ? state_->item.path : files[std::min(state_->index, files.size() - 1)];
}

double ParallelReader::fraction_read() const {
  const int64_t done = state_->done + (state_->reading ? state_->reading->consumed() : 0);
  return state_->all > 0
             ? std::min(1.0, static_cast<double>(done) / static_cast<double>(state_->all))
             : 1.0;
}

void visit_parallel_texts(const std::vector<DataItem>& items, const TextVisitor& visit) {
  for (const auto& item : items) {
    ParallelReader reader(item);
    for (TextPairView pair; reader.next(pair);) {
      throw_if_stopped("reading the texts");
      visit_text(pair.source, visit);
      visit_text(pair.target, visit);
    }
  }
}

}  // namespace weft::data
