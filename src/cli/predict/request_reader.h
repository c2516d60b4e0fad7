#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "inference/predict.h"

namespace weft::cli {

/// Columns (keys) of the texts; nullopt: those that training finds by default.
struct RequestColumns {
  std::optional<std::string> text;
  std::optional<std::string> text_pair;
};

/// Streams the texts to run a model on.
class RequestReader {
 public:
  virtual ~RequestReader() = default;

  /// Reads the next one; returns false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::PredictionRequest& query) = 0;
  virtual std::string location() const = 0;
  /// Blank lines skipped so far.
  virtual int64_t blank_lines() const = 0;
};

/// Opens a csv, tsv or parquet table (labels are ignored), otherwise JSON lines; `-` is JSON lines
/// from standard input. Blank lines are no rows and hence no requests, as in other readers of such
/// files, so predictions match rows.
std::unique_ptr<RequestReader> open_requests(const std::string& path,
                                             const RequestColumns& columns);

/// Counts conditions of the texts that a user should know about.
class RequestCounts {
 public:
  void add(const inference::PredictionRequest& query);
  /// Warns about empty texts, and about texts without a second one among pairs.
  void report() const;
  /// Warns about blank lines; `verb` as in the log.
  static void report_blank(std::string_view verb, int64_t lines);

 private:
  int64_t requests_ = 0;
  int64_t empty_ = 0;
  int64_t pairs_ = 0;
};

}  // namespace weft::cli
