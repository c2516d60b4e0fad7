#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/score_task.h"

namespace weft::cli {

/// Streams the items to score.
class ScoreItemReader {
 public:
  virtual ~ScoreItemReader() = default;
  /// Reads the next one; returns false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::ScoreItem& item) = 0;
};

/// Opens JSON lines: {"context", "choices", "label"}, {"context", "continuation"}, {"text"}, or the
/// output of `weft generate --n-best`. `-`: standard input.
std::unique_ptr<ScoreItemReader> open_items(const std::string& path,
                                            const std::optional<std::string>& delimiter);

/// Opens the table rows that a task file describes; `data`: replaces the task's data, if not empty.
std::unique_ptr<ScoreItemReader> open_task(const std::string& task,
                                           const std::vector<std::string>& data);

/// Opens text files; each is one text.
std::unique_ptr<ScoreItemReader> open_texts(const std::vector<std::string>& files);

}  // namespace weft::cli
