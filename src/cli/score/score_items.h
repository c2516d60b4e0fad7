#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/score_task.h"

namespace weft::cli {

/// Streams what a model is asked.
class ScoreItems {
 public:
  virtual ~ScoreItems() = default;
  /// The next one; false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::ScoreItem& item) = 0;
};

/// JSON lines: {"context", "choices", "label"}, {"context", "continuation"}, {"text"}, or what
/// `weft generate --n-best` writes. `-`: standard input.
std::unique_ptr<ScoreItems> open_items(const std::string& path,
                                       const std::optional<std::string>& delimiter);

/// The rows of tables as a task file has them; `data`: instead of the task's own, where not empty.
std::unique_ptr<ScoreItems> open_task(const std::string& task,
                                      const std::vector<std::string>& data);

/// Each file a text.
std::unique_ptr<ScoreItems> open_texts(const std::vector<std::string>& files);

}  // namespace weft::cli
