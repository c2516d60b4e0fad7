#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "formats/image.h"
#include "formats/json.h"
#include "inference/predict.h"
#include "train/distributed/process_group.h"

namespace weft::cli {

/// A row of the input: what a line, a row of a table, a text or an image says.
struct InputRow {
  formats::Json fields = formats::Json::object();  // columns by name
  std::string location;                            // for errors: `questions.jsonl:3`
  std::optional<formats::Image> image = {};        // pixels of a file with many images
  bool is_of_table = false;                        // all fields are text or null
};

/// Streams the rows to run a model on.
class InputReader {
 public:
  virtual ~InputReader() = default;

  /// Reads the next row; returns false at the end. Throws formats::Error naming file and line.
  virtual bool next(InputRow& row) = 0;
  /// Column names of a table, known before its rows; empty for other inputs.
  virtual std::vector<std::string> table_columns() const { return {}; }
  /// Blank lines skipped so far.
  virtual int64_t blank_lines() const { return 0; }
  /// Whether the next row may be read without waiting for the writer of a pipe.
  virtual bool has_input() const { return true; }
  /// The part of the input read so far, 0 to 1; negative: unknown.
  virtual double fraction_read() const = 0;
};

/// Rows that a command reads before it runs the model: enough batches of texts of similar lengths
/// for all threads.
std::size_t rows_at_once();

/// Shows the part of the input that is done and the time that is left, unless answers are written
/// to the terminal.
class InputProgress {
 public:
  InputProgress(std::string activity, const Arguments& arguments);
  InputProgress(const InputProgress&) = delete;
  InputProgress& operator=(const InputProgress&) = delete;
  ~InputProgress();
  void show(double fraction) const;

 private:
  std::string activity_;
  bool is_shown_;
};

enum class LineFormat {
  kJson,      // an object per line; blank lines are no rows, as in other readers of such files
  kPlain,     // a text per line, also a blank one
  kDetected,  // kJson if the first line begins with a brace, else kPlain
};

/// Opens `--input`: a csv, tsv or parquet table, otherwise lines in `format`; with `--plain` each
/// line is a text. Without the option standard input. Warns about columns that cannot be read.
std::unique_ptr<InputReader> open_input(const Arguments& arguments, LineFormat format);

/// Texts (or paths of images) of the command line: after MODEL, then those of `option`. Throws
/// UsageError if there are some and an option of `excluded` is given too.
std::vector<std::string> given_texts(const Arguments& arguments,
                                     const std::string& option,
                                     const std::vector<std::string>& excluded);

std::unique_ptr<InputReader> input_of_texts(std::vector<std::string> texts);

/// Image files, folders of images, and IDX, CIFAR or pixel files. Throws data::Error.
std::unique_ptr<InputReader> input_of_images(const std::vector<std::string>& paths);

/// Declares `--text-column`, and `--text-pair-column` if the command reads pairs.
void declare_columns(Arguments& arguments, bool are_pairs);

/// Columns (keys) of the texts; nullopt: those that training finds by default.
struct RequestColumns {
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> text_pair = std::nullopt;
  bool is_of_table = false;  // the columns were looked up in the header
};

/// The columns that options name, else `text`; those of a table are looked up, and are by default
/// those of the training data of the model, the command's first argument. Throws data::Error if it
/// does not have them.
RequestColumns read_columns(const Arguments& arguments,
                            const InputReader& input,
                            const std::optional<std::string>& text = std::nullopt);

/// The value of a key. In a table, text that is JSON is parsed: a list, a number. Null: there is
/// none.
formats::Json value_at(const InputRow& row, const std::string& key);

/// The text, pair or image of a row. Throws formats::Error naming the row.
inference::PredictionRequest request_of(const InputRow& row, const RequestColumns& columns);

/// Counts conditions of the texts that a user should know about.
class RequestCounts {
 public:
  void add(const inference::PredictionRequest& query);
  /// Adds the counts of the other ranks.
  void sum(train::ProcessGroup& group);
  /// Warns about empty texts, and about texts without a second one for a model of pairs.
  void report(bool is_of_pairs) const;
  /// Warns about blank lines; `command` as in the log.
  static void report_blank(std::string_view command, int64_t lines);

 private:
  int64_t requests_ = 0;
  int64_t empty_ = 0;
  int64_t pairs_ = 0;
};

}  // namespace weft::cli
