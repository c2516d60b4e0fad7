#pragma once

#include <memory>
#include <optional>
#include <string>

#include "inference/generate.h"

namespace weft::cli {

/// Streams what is to be gone on with.
class Prompts {
 public:
  virtual ~Prompts() = default;
  /// The next one; false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::GenerationQuery& query) = 0;
  virtual int64_t blank_lines() const { return 0; }
};

/// Of JSON lines with `prompt` (or `source`, `text`, or `ids`), of a column of a csv or tsv table,
/// or plain lines. `-`: standard input.
struct PromptSource {
  std::string path;
  std::optional<std::string> column;  // or key
  bool is_plain = false;
};
std::unique_ptr<Prompts> open_prompts(const PromptSource& source);

/// Texts of the command line.
std::unique_ptr<Prompts> prompts_of(std::vector<std::string> texts);

}  // namespace weft::cli
