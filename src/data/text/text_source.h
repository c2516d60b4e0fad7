#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"

namespace weft::data {

/// A line of running text, without surrounding ASCII white space, never empty. May be ill-formed
/// UTF-8.
struct TextLine {
  std::string_view text;         // valid until the next call
  bool begins_document = false;  // first line of a document
};

/// Columns of a table that are read as text if the item names none.
enum class TextColumns {
  kFirst,  // the first of `text`, `sentence1`, `sentence` that exists; `text_pair` only if the item
           // names it
  kAll,    // also `text_pair` or `sentence2`, if it exists
};

/// Reads the files of a data item, in order, as lines and documents. Plain text: documents end as
/// set by DocumentBoundary, and at the end of the file. Tables (by file extension): each row is a
/// document, made of the lines of its text columns. With SentenceBoundary::kNone a "line" is a
/// whole unchanged document, including line feeds (see make_document_reader). `.gz` files are
/// decompressed. Lines longer than kMaxLineBytes are split, at white space if possible.
class TextReader {
 public:
  static constexpr int64_t kMaxLineBytes = int64_t{1} << 20;

  /// Throws data::Error and formats::Error, here and in `next`: no such file or column, a damaged
  /// file.
  TextReader(const DataItem& item,
             const DataOptions& options,
             TextColumns columns = TextColumns::kFirst);
  ~TextReader();

  bool next(TextLine& line);
  /// Path of the current file.
  const std::string& file() const;
  /// Fraction of the bytes of all files read so far, 0 to 1.
  double fraction_read() const;
  /// Number of extra pieces that long lines were split into.
  int64_t line_splits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The .txt files below a directory, sorted by path.
std::vector<std::string> text_files_in(const std::string& directory);

/// The item with each directory replaced by its text files.
DataItem with_text_files(DataItem item);

/// Returns the text columns of a table. Throws data::Error if there are none.
std::vector<std::string> text_columns(const DataItem& item,
                                      const std::string& file,
                                      TextColumns columns = TextColumns::kFirst);

/// Calls `visit` with the text, invalid UTF-8 bytes replaced.
void visit_text(std::string_view text, const std::function<void(std::string_view)>& visit);

/// Visits the sentences of one line of well-formed UTF-8, with surrounding ASCII white space
/// removed and empty ones skipped. Sentences never continue past the end of a line.
///
/// kNone: the whole text unchanged. kLine: the line itself. kPunctuation: a sentence ends after `.
/// ! ?`, an ellipsis or the equivalents in other scripts, plus any closing quotes and brackets, if
/// white space follows and then (after opening quotes and brackets) a capital letter or a letter of
/// a script without case. Chinese and Japanese full stops always end a sentence. There is no end
/// after a title (`Dr.`, `Mrs.`), an abbreviation that requires a continuation (`e.g.`, `vs.`) or a
/// single capital (`E. M. Forster`). This is a cheap heuristic that makes mistakes on names, not a
/// language model.
void visit_sentences(std::string_view line,
                     SentenceBoundary boundary,
                     const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
