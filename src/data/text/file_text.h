#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/text/text_source.h"

namespace weft::data {

/// One file as the lines of TextReader.
class FileText {
 public:
  virtual ~FileText() = default;
  virtual bool next(TextLine& line) = 0;
  virtual int64_t consumed() const = 0;
  /// Pieces that long lines were cut into, beyond one each.
  virtual int64_t cuts() const = 0;
};

/// Documents of a file as they stand, line feeds inside them kept, each a "line" of its own. Of
/// plain text the border says what ends one; of a table each row is one. Those longer than
/// `longest` come in pieces, cut before a line feed where there is one, so that most tokenizers
/// make of the pieces what they would make of the whole.
std::unique_ptr<FileText> make_document_text(const std::string& path,
                                             DocumentBorder border,
                                             int64_t longest = TextReader::kLongestLine);
std::unique_ptr<FileText> make_row_text(const std::string& path,
                                        std::vector<std::string> columns,
                                        int64_t longest = TextReader::kLongestLine);

}  // namespace weft::data
