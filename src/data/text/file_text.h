#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/text/text_source.h"

namespace weft::data {

/// Reader of one file that returns the lines of TextReader.
class TextFileReader {
 public:
  virtual ~TextFileReader() = default;
  virtual bool next(TextLine& line) = 0;
  virtual int64_t consumed() const = 0;
  /// Number of extra pieces that long lines were split into.
  virtual int64_t line_splits() const = 0;
};

/// Returns the documents of a file unchanged, with their line feeds, each as one "line". In plain
/// text `boundary` defines the end of a document; in a table each row is one. Documents longer than
/// `longest` are returned in pieces, split before a line feed if there is one, so that most
/// tokenizers give the same tokens for the pieces as for the whole.
std::unique_ptr<TextFileReader> make_document_reader(const std::string& path,
                                                     DocumentBoundary boundary,
                                                     int64_t longest = TextReader::kMaxLineBytes);
std::unique_ptr<TextFileReader> make_row_reader(const std::string& path,
                                                const std::vector<std::string>& columns,
                                                const formats::TableOptions& options = {},
                                                int64_t longest = TextReader::kMaxLineBytes);

}  // namespace weft::data
