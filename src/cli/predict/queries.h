#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "inference/predict.h"

namespace weft::cli {

/// Where the texts stand; nothing: in the columns (keys) that training finds by itself.
struct QueryColumns {
  std::optional<std::string> text;
  std::optional<std::string> text_pair;
};

/// Streams the texts that a model is asked about.
class Queries {
 public:
  virtual ~Queries() = default;

  /// The next one; false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::Query& query) = 0;
  virtual std::string place() const = 0;
  /// Blank lines passed over so far.
  virtual int64_t blank_lines() const = 0;
};

/// Of a csv or tsv table (its labels, if it has some, are not looked at), else of JSON lines; `-`
/// is JSON lines from standard input. Blank lines are no rows and hence no queries, as readers of
/// such files have it elsewhere: answers stand row by row.
std::unique_ptr<Queries> open_queries(const std::string& path, const QueryColumns& columns);

/// Counts what a user should know of his texts.
class QueryCounts {
 public:
  void add(const inference::Query& query);
  /// Warns of empty texts, and of texts without a second one among pairs.
  void report() const;
  /// Warns of blank lines; `verb` as in the log.
  static void report_blank(std::string_view verb, int64_t lines);

 private:
  int64_t queries_ = 0;
  int64_t empty_ = 0;
  int64_t pairs_ = 0;
};

}  // namespace weft::cli
