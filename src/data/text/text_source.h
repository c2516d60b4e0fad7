#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_options.h"

namespace weft::data {

/// A line of running text, without white space (ASCII) at its ends, never empty. It may be
/// ill-formed UTF-8.
struct TextLine {
  std::string_view text;         // valid until the next call
  bool begins_document = false;  // a border of documents lies before it
};

/// Which columns of a table are read as text, where the item does not name them.
enum class TextColumns {
  kFirst,  // `text`, `sentence1` or `sentence`, whichever there is first; `text_pair` only if the
           // item names it
  kAll,    // and `text_pair` or `sentence2`, if there is one
};

/// Reads the files of a data item, in order, as lines and documents. Plain text: documents end as
/// DocumentBorder says, and with the file. Tables (by the name's ending): each row is a document,
/// made of the lines of its text columns. With SentenceBorder::kNone a "line" is a whole document
/// as it stands, line feeds inside it kept (see make_document_text). A `.gz` is read as what it
/// holds. Lines longer than kLongestLine come in pieces, cut at white space where there is some.
class TextReader {
 public:
  static constexpr int64_t kLongestLine = int64_t{1} << 20;

  /// Throws data::Error and formats::Error, here and in `next`: no such file or column, a damaged
  /// file.
  TextReader(const DataItem& item,
             const DataOptions& options,
             TextColumns columns = TextColumns::kFirst);
  ~TextReader();

  bool next(TextLine& line);
  /// Path of the file that is read.
  const std::string& file() const;
  /// Share of the bytes of all files that is read, 0 to 1.
  double share() const;
  /// Pieces that long lines were cut into, beyond one each.
  int64_t cuts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The columns of a table that hold text. Throws data::Error where there is none.
std::vector<std::string> text_columns(const DataItem& item,
                                      const std::string& file,
                                      TextColumns columns = TextColumns::kFirst);

/// Calls the function for the text, its bytes that are no UTF-8 replaced.
void visit_text(std::string_view text, const std::function<void(std::string_view)>& visit);

}  // namespace weft::data
