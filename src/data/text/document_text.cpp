#include <optional>
#include <utility>

#include "base/text.h"
#include "data/text/file_text.h"
#include "formats/lines.h"
#include "formats/table.h"

namespace weft::data {

namespace {

bool is_document_space(char sign) { return sign == ' ' || (sign >= '\t' && sign <= '\r'); }

/// Where a text is cut that has more than `longest` bytes: before the last line feed that follows
/// something other than white space, else at white space, else at a character.
std::size_t cut_of(const std::string& text, std::size_t longest) {
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

class DocumentText : public FileText {
 public:
  explicit DocumentText(int64_t longest) : longest_(static_cast<std::size_t>(longest)) {}

  bool next(TextLine& line) override {
    while (true) {
      bool begins = begins_document_;
      if (open_.size() > longest_) {
        const std::size_t end = cut_of(open_, longest_);
        given_.assign(open_, 0, end);
        open_.erase(0, end);
        begins_document_ = false;
        cuts_ += open_.front() == '\n' ? 0 : 1;  // elsewhere the tokens may be others
      } else if (std::exchange(is_complete_, false)) {
        given_ = std::exchange(open_, {});
        begins_document_ = true;
      } else if (is_ended_) {
        return false;
      } else {
        is_ended_ = !read();
        is_complete_ = is_complete_ || is_ended_;
        continue;
      }
      if (!trim(given_).empty()) {
        line = {.text = given_, .begins_document = begins};
        return true;
      }
    }
  }
  int64_t cuts() const override { return cuts_; }

 protected:
  /// Appends to the open document; `complete` says that it ends there. False at the file's end.
  virtual bool read() = 0;
  std::string& open() { return open_; }
  void complete() { is_complete_ = true; }

 private:
  std::size_t longest_;
  std::string open_;  // what is read of the document and not given yet
  std::string given_;
  bool begins_document_ = true;  // with what is open
  bool is_complete_ = false;     // the document ends with what is open
  bool is_ended_ = false;
  int64_t cuts_ = 0;
};

class PlainDocuments : public DocumentText {
 public:
  PlainDocuments(const std::string& path, DocumentBorder border, int64_t longest)
      : DocumentText(longest),
        lines_(path, formats::LineOptions{.longest = longest, .splits_long = true}),
        border_(border) {}

  int64_t consumed() const override { return lines_.consumed(); }

 protected:
  bool read() override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    const bool is_piece = std::exchange(goes_on_, lines_.goes_on());
    const bool is_blank = !is_piece && !goes_on_ && trim(line).empty();
    const bool is_border =
        border_ == DocumentBorder::kLine || (border_ == DocumentBorder::kEmptyLine && is_blank);
    if (is_blank && is_border) {
      has_lines_ = false;
      complete();
      return true;
    }
    if (std::exchange(has_lines_, true) && !is_piece) {
      open() += '\n';
    }
    open() += line;
    if (is_border && !goes_on_) {
      has_lines_ = false;
      complete();
    }
    return true;
  }

 private:
  formats::LineReader lines_;
  DocumentBorder border_;
  bool has_lines_ = false;  // of the open document, given ones counted
  bool goes_on_ = false;    // the last line was a piece, and not its last
};

class RowDocuments : public DocumentText {
 public:
  RowDocuments(const std::string& path, std::vector<std::string> columns, int64_t longest)
      : DocumentText(longest),
        table_(path, formats::table_kind(path).value(), std::move(columns)) {}

  int64_t consumed() const override { return table_.consumed(); }

 protected:
  bool read() override {
    if (!table_.next(fields_)) {
      return false;
    }
    bool is_first = true;
    for (const auto& field : fields_) {
      if (field) {
        open() += (std::exchange(is_first, false) ? "" : "\n") + *field;
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

std::unique_ptr<FileText> make_document_text(const std::string& path,
                                             DocumentBorder border,
                                             int64_t longest) {
  return std::make_unique<PlainDocuments>(path, border, longest);
}

std::unique_ptr<FileText> make_row_text(const std::string& path,
                                        std::vector<std::string> columns,
                                        int64_t longest) {
  return std::make_unique<RowDocuments>(path, std::move(columns), longest);
}

}  // namespace weft::data
