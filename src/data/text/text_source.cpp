#include "data/text/text_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/datasets/language_dataset.h"
#include "data/error.h"
#include "data/text/file_text.h"
#include "formats/in_quotes.h"
#include "formats/lines.h"
#include "formats/table.h"

namespace weft::data {

namespace {

constexpr std::array<const char*, 3> kTextNames = {"text", "sentence1", "sentence"};
constexpr std::array<const char*, 2> kPairNames = {"text_pair", "sentence2"};

class PlainText : public FileText {
 public:
  PlainText(const std::string& path, DocumentBorder border)
      : lines_(path,
               formats::LineOptions{.longest = TextReader::kLongestLine, .splits_long = true}),
        border_(border) {}

  bool next(TextLine& line) override {
    std::string_view whole;
    while (lines_.next(whole)) {
      const bool is_piece = goes_on_;
      goes_on_ = lines_.goes_on();
      cuts_ += goes_on_ ? 1 : 0;
      line.text = trim(whole);
      if (!line.text.empty()) {
        line.begins_document = std::exchange(begins_document_, false);
        begins_document_ = border_ == DocumentBorder::kLine && !goes_on_;
        return true;
      }
      if (border_ == DocumentBorder::kEmptyLine && !is_piece && !goes_on_) {
        begins_document_ = true;
      }
    }
    return false;
  }
  int64_t consumed() const override { return lines_.consumed(); }
  int64_t cuts() const override { return cuts_; }

 private:
  formats::LineReader lines_;
  DocumentBorder border_;
  bool begins_document_ = true;  // of the next line
  bool goes_on_ = false;         // the last line was a piece, and not its last
  int64_t cuts_ = 0;
};

/// Bytes of the text that one line may take: all, up to the line feed, or as much of a long one as
/// ends with white space or a character.
std::size_t line_size(std::string_view rest) {
  constexpr auto kLongest = static_cast<std::size_t>(TextReader::kLongestLine);
  const std::size_t size = std::min(rest.find('\n'), rest.size());
  if (size <= kLongest) {
    return size;
  }
  const auto space = rest.find_last_of(" \t", kLongest - 1);
  if (space != std::string_view::npos && space >= kLongest / 2) {
    return space + 1;
  }
  std::size_t end = kLongest;
  while (end > kLongest - 4 && (rest[end] & 0xC0) == 0x80) {
    --end;
  }
  return end;
}

class TableText : public FileText {
 public:
  TableText(const std::string& path, std::vector<std::string> columns)
      : table_(path, formats::table_kind(path).value(), std::move(columns)) {}

  bool next(TextLine& line) override {
    while (true) {
      while (!rest_.empty()) {
        const auto size = line_size(rest_);
        const bool is_cut = size < rest_.size() && rest_[size] != '\n';
        cuts_ += is_cut ? 1 : 0;
        line.text = trim(rest_.substr(0, size));
        rest_.remove_prefix(std::min(rest_.size(), size + (is_cut ? 0 : 1)));
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
  int64_t cuts() const override { return cuts_; }

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
      rest_ = field ? std::string_view(*field) : std::string_view();
    }
    return true;
  }

  formats::TableReader table_;
  std::vector<std::optional<std::string>> fields_;  // of the row
  std::size_t field_ = 0;                           // the next one
  std::string_view rest_;                           // of the field before it
  bool begins_document_ = true;
  int64_t cuts_ = 0;
};

}  // namespace

std::vector<std::string> text_columns(const DataItem& item,
                                      const std::string& file,
                                      TextColumns columns) {
  const auto there = formats::columns_of(file, formats::table_kind(file).value());
  const auto first_of = [&there](const auto& names) {
    const auto found = std::find_if(names.begin(), names.end(), [&there](const char* name) {
      return std::find(there.begin(), there.end(), name) != there.end();
    });
    return found == names.end() ? std::nullopt : std::optional<std::string>(*found);
  };
  const auto first = item.text ? item.text : first_of(kTextNames);
  if (!first && !there.empty()) {
    throw Error(text(file,
                     ": no column text, sentence1 or sentence, and the data item names no other as "
                     "its text; there are ",
                     formats::in_quotes(there)));
  }
  std::vector<std::string> found{first.value_or(kTextNames.front())};
  auto second = item.text_pair;
  if (!second && columns == TextColumns::kAll) {
    second = first_of(kPairNames);
  }
  if (second && *second != found.front()) {
    found.push_back(*second);
  }
  return found;
}

struct TextReader::State {
  State(const DataItem& data_item, const DataOptions& options, TextColumns which)
      : item(data_item),
        border(options.document),
        takes_documents(options.sentence == SentenceBorder::kNone),
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
      reading = make_row_text(file, text_columns(item, file, columns));
    } else if (is_table) {
      reading = std::make_unique<TableText>(file, text_columns(item, file, columns));
    } else if (takes_documents) {
      reading = make_document_text(file, border);
    } else {
      reading = std::make_unique<PlainText>(file, border);
    }
  }

  DataItem item;
  DocumentBorder border;
  bool takes_documents;  // whole, as they stand
  TextColumns columns;
  std::vector<int64_t> sizes;
  std::size_t index = 0;  // of the file that is read
  std::unique_ptr<FileText> reading;
  int64_t cuts = 0;  // in the files before
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
    state.cuts += state.reading->cuts();
    state.reading.reset();
    ++state.index;
  }
  return false;
}

const std::string& TextReader::file() const {
  const auto& files = state_->item.files;
  return files.empty() ? state_->item.path : files[std::min(state_->index, files.size() - 1)];
}

double TextReader::share() const {
  int64_t done = state_->reading ? state_->reading->consumed() : 0;
  int64_t all = 0;
  for (std::size_t index = 0; index < state_->sizes.size(); ++index) {
    done += index < state_->index ? state_->sizes[index] : 0;
    all += state_->sizes[index];
  }
  return all > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(all)) : 1.0;
}

int64_t TextReader::cuts() const {
  return state_->cuts + (state_->reading ? state_->reading->cuts() : 0);
}

void visit_text(std::string_view text, const std::function<void(std::string_view)>& visit) {
  utf8::first_invalid(text) ? visit(utf8::repaired(text)) : visit(text);
}

void visit_texts(const std::vector<DataItem>& items,
                 const DataOptions& options,
                 const std::function<void(std::string_view)>& visit) {
  for (const auto& item : items) {
    TextReader reader(item, options, TextColumns::kAll);
    for (TextLine line; reader.next(line);) {
      leave_if_stopped("reading the texts");
      visit_text(line.text, visit);
    }
  }
}

}  // namespace weft::data
