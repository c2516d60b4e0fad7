#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "formats/json.h"
#include "inference/score_task.h"

namespace weft::cli {

/// Streams the items to score.
class ScoreItemReader {
 public:
  virtual ~ScoreItemReader() = default;
  /// Reads the next one; returns false at the end. Throws formats::Error naming file and line.
  virtual bool next(inference::ScoreItem& item) = 0;
  /// The part of the items read so far, 0 to 1; negative: unknown.
  virtual double fraction_read() const = 0;
};

/// Opens --input: JSON lines or a table with {"context", "choices", "label"}, {"context",
/// "continuation"} or {"text"}, the output of `weft generate --n-best`, or plain lines.
std::unique_ptr<ScoreItemReader> open_items(const Arguments& arguments);

/// Opens the table rows that a task file describes; `data`: replaces the task's data, if not empty.
std::unique_ptr<ScoreItemReader> open_task(const std::string& task,
                                           const std::vector<std::string>& data);

/// Opens text files; each is one text.
std::unique_ptr<ScoreItemReader> open_texts(const std::vector<std::string>& files);

/// Results of a task: ScoreMetrics' metrics by name, each followed by its standard error.
struct TaskMetrics {
  std::string task;
  std::vector<std::pair<std::string, double>> metrics;
};

/// The metrics as an object, with the task's name first if it has one.
formats::Json score_json_of(const TaskMetrics& metrics);

/// A row per task, a column per metric that any task has, as `0.5520 +- 0.0222` with the standard
/// error; `-` if a task has none.
std::string score_table(const std::vector<TaskMetrics>& tasks);

/// Declares the options for scoring texts against references: BLEU, chrF, ROUGE.
void declare_text_scores(Arguments& arguments);

/// Declares the subset that selects and configures metrics; `fallback`: default metrics, for the
/// help.
void declare_text_metrics(Arguments& arguments, const std::string& fallback);
const std::vector<std::string>& text_metric_options();

/// Throws UsageError for invalid metrics, UserError if a library that one needs is missing.
void check_text_metrics(const Arguments& arguments);

/// Metrics of lines against one reference each; BLEU, chrF and ROUGE by default. Includes the
/// number of `lines` and the signatures.
formats::Json text_metrics(const Arguments& arguments,
                           const std::vector<std::string>& hypotheses,
                           const std::vector<std::string>& references);

/// Whether the command line requests them.
bool wants_text_scores(const Arguments& arguments);

/// Compares two or more files line by line and writes the metrics. Throws UsageError.
int run_text_scores(const Arguments& arguments);

}  // namespace weft::cli
