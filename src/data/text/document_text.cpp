#include <optional>
#include <utility>

#include "base/string_util.h"
#include "data/text/file_text.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {

namespace {

bool is_document_space(char character) {
  return character == ' ' || (character >= '\t' && character <= '\r');
}

/// Split point of a text longer than `longest` bytes: before the last line feed that follows a
/// character other than white space, else at white space, else between characters.
std::size_t split_point(const std::string& text, std::size_t longest) {
  for (std::size_t at = longest; at > longest / 2; --at) {
    if (text[at] == '\n' && !is_document_space(text[at - 1])) {
      return at;
    }
  }
  for (std::size_t at = longest; at > longest / 2; --at) {
    if (is_document_space(text[at]) && !is_document_space(text[at - 1])) {
      return at;
    }
  }
  std::size_t end = longest;
  while (end > 1 && longest - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return end;
}

class DocumentReader : public TextFileReader {
 public:
  explicit DocumentReader(int64_t longest) : longest_(static_cast<std::size_t>(longest)) {}

  bool next(TextLine& line) override {
    while (true) {
      bool begins = begins_document_;
      if (pending_.size() > longest_) {
        const std::size_t end = split_point(pending_, longest_);
        current_.assign(pending_, 0, end);
        pending_.erase(0, end);
        begins_document_ = false;
        line_splits_ += pending_.front() == '\n' ? 0 : 1;  // other splits may change the tokens
      } else if (std::exchange(is_complete_, false)) {
        current_ = std::exchange(pending_, {});
        begins_document_ = true;
      } else if (is_finished_) {
        return false;
      } else {
        is_finished_ = !read();
        is_complete_ = is_complete_ || is_finished_;
        continue;
      }
      if (!trim(current_).empty()) {
        line = {.text = current_, .begins_document = begins};
        return true;
      }
    }
  }
  int64_t line_splits() const override { return line_splits_; }

 protected:
  /// Appends to the open document; calls `complete` at its end. False at the end of the file.
  virtual bool read() = 0;
  std::string& pending() { return pending_; }
  void complete() { is_complete_ = true; }

 private:
  std::size_t longest_;
  std::string pending_;  // text of the document that was read but not returned yet
  std::string current_;
  bool begins_document_ = true;  // whether the pending text does
  bool is_complete_ = false;     // the pending text is the end of its document
  bool is_finished_ = false;
  int64_t line_splits_ = 0;
};

class PlainDocumentReader : public DocumentReader {
 public:
  PlainDocumentReader(const std::string& path, DocumentBoundary boundary, int64_t longest)
      : DocumentReader(longest),
        lines_(path, formats::LineOptions{.max_line_bytes = longest, .splits_long = true}),
        boundary_(boundary) {}

  int64_t consumed() const override { return lines_.consumed(); }

 protected:
  bool read() override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    const bool is_piece = std::exchange(line_continues_, lines_.continues());
    const bool is_blank = !is_piece && !line_continues_ && trim(line).empty();
    const bool is_boundary = boundary_ == DocumentBoundary::kLine ||
                             (boundary_ == DocumentBoundary::kEmptyLine && is_blank);
    if (is_blank && is_boundary) {
      has_lines_ = false;
      complete();
      return true;
    }
    if (std::exchange(has_lines_, true) && !is_piece) {
      pending() += '\n';
    }
    pending() += line;
    if (is_boundary && !line_continues_) {
      has_lines_ = false;
      complete();
    }
    return true;
  }

 private:
  formats::LineReader lines_;
  DocumentBoundary boundary_;
  bool has_lines_ = false;       // of the open document, including returned ones
  bool line_continues_ = false;  // the last line was a piece, but not its last
};

class RowDocumentReader : public DocumentReader {
 public:
  RowDocumentReader(const std::string& path,
                    const std::vector<std::string>& columns,
                    const formats::TableOptions& options,
                    int64_t longest)
      : DocumentReader(longest),
        table_(path, formats::table_kind(path).value(), columns, options) {}

  int64_t consumed() const override { return table_.consumed(); }

 protected:
  bool read() override {
    if (!table_.next(fields_)) {
      return false;
    }
    bool is_first = true;
    for (const auto& field : fields_) {
      if (field) {
        pending() += (std::exchange(is_first, false) ? "" : "\n") + *field;
      }
    }
    complete();
    return true;
  }

 private:
  formats::TableReader table_;
  std::vector<std::optional<std::string>> fields_;  // of the row
};

}  // namespace

std::unique_ptr<TextFileReader> make_document_reader(const std::string& path,
                                                     DocumentBoundary boundary,
                                                     int64_t longest) {
  return std::make_unique<PlainDocumentReader>(path, boundary, longest);
}

std::unique_ptr<TextFileReader> make_row_reader(const std::string& path,
                                                const std::vector<std::string>& columns,
                                                const formats::TableOptions& options,
                                                int64_t longest) {
  return std::make_unique<RowDocumentReader>(path, columns, options, longest);
}

}  // namespace weft::data
