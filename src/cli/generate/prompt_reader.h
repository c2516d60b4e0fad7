#pragma once

#include <memory>
#include <optional>
#include <string>

#include "inference/generate.h"

namespace weft::cli {

/// Streams prompts.
class PromptReader {
 public:
  virtual ~PromptReader() = default;
  /// Reads the next one; returns false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::GenerationRequest& query) = 0;
  virtual int64_t blank_lines() const { return 0; }
  /// Whether the next one may be read without waiting for the writer of a pipe.
  virtual bool has_input() const { return true; }
  /// The part of the input read so far, 0 to 1; negative: unknown.
  virtual double fraction_read() const = 0;
};

/// Prompts from JSON lines with `prompt` (or `source`, `text`, or `ids`), from a column of a csv,
/// tsv or parquet table, or from plain lines. `-`: standard input.
struct PromptSource {
  std::string path;
  std::optional<std::string> column;  // or key
  bool is_plain = false;
};
std::unique_ptr<PromptReader> open_prompts(const PromptSource& source);

/// Prompts given on the command line.
std::unique_ptr<PromptReader> prompts_from_texts(std::vector<std::string> texts);

}  // namespace weft::cli
