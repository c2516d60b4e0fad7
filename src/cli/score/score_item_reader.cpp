#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "cli/predict/request_reader.h"
#include "cli/score/score.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::cli {
namespace {

using formats::Json;
using inference::ScoreItem;

/// Rows of JSON lines, of a table or of plain lines.
class RowItems : public ScoreItemReader {
 public:
  explicit RowItems(const Arguments& arguments) : rows_(open_input(arguments, LineFormat::kJson)) {
    const bool has_prompts = std::ranges::any_of(rows_->table_columns(), [](const auto& name) {
      return name == "context" || name == "prompt";
    });
    if (!has_prompts || arguments.has("text-column")) {
      text_ = read_columns(arguments, *rows_).text;
    }
    if (arguments.has("delimiter")) {
      delimiter_ = arguments.get("delimiter");
    }
  }

  bool next(ScoreItem& item) override {
    if (!rows_->next(row_)) {
      return false;
    }
    const auto& line = row_.fields;
    const auto text = text_.value_or("text");
    item = {};
    item.delimiter = delimiter_;
    if (text_ || (line.contains(text) && !line.contains("n_best"))) {
      item.text = text_of(line, text);
      return true;
    }
    item.context = text_of(line, line.contains("prompt") ? "prompt" : "context");
    if (line.contains("continuation")) {
      item.choices = {text_of(line, "continuation")};
    } else if (line.contains("n_best")) {
      read_best(line, item);
    } else {
      read_choices(item);
    }
    return true;
  }

  double fraction_read() const override { return rows_->fraction_read(); }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw formats::Error(str_cat(row_.location, ": ", message,
                                 ", as in {\"context\": \"...\", \"choices\": [\"...\", \"...\"], "
                                 "\"label\": 0}"));
  }

  std::string text_of(const Json& line, const std::string& key) const {
    if (!line.is_object() || !line.contains(key) || !line.at(key).is_string()) {
      fail("not a JSON object with a string \"" + key + "\"");
    }
    return line.at(key).get<std::string>();
  }

  void read_choices(ScoreItem& item) const {
    const auto choices = value_at(row_, "choices");
    if (!choices.is_array() || choices.empty()) {
      fail("no list of \"choices\"");
    }
    for (const auto& choice : choices) {
      if (!choice.is_string()) {
        fail("a choice that is not a string");
      }
      item.choices.push_back(choice.get<std::string>());
    }
    if (const auto label = value_at(row_, "label"); !label.is_null()) {
      if (!label.is_number_integer() || label.get<int64_t>() < 0 ||
          label.get<int64_t>() >= static_cast<int64_t>(item.choices.size())) {
        fail(str_cat("\"label\" ", label.dump(), " is not the index of a choice, counted from 0"));
      }
      item.label = label.get<int64_t>();
    }
  }

  /// Generated texts are scored unchanged.
  void read_best(const Json& line, ScoreItem& item) const {
    item.delimiter = delimiter_.value_or("");
    for (const auto& best : line["n_best"]) {
      item.choices.push_back(text_of(best, "text"));
    }
    if (item.choices.empty()) {
      fail("an empty \"n_best\"");
    }
  }

  std::unique_ptr<InputReader> rows_;
  std::optional<std::string> text_;  // column of whole texts, if it was named or found in a table
  std::optional<std::string> delimiter_;
  InputRow row_;
};

class TaskItems : public ScoreItemReader {
 public:
  TaskItems(inference::ScoreTask task, std::vector<std::string> files)
      : task_(std::move(task)), files_(std::move(files)) {
    for (const auto& path : files_) {
      open(path);  // missing files and columns are reported before others are scored
    }
    rows_.reset();
  }

  bool next(ScoreItem& item) override {
    while (!rows_ || !rows_->next(fields_)) {
      if (file_ == files_.size()) {
        return false;
      }
      open(files_[file_++]);
    }
    std::vector<std::string> values;
    for (const auto& field : fields_) {
      values.push_back(field.value_or(""));
    }
    try {
      item = task_.item(values);
    } catch (const UserError& error) {
      throw formats::Error(rows_->location() + ": " + error.what());
    }
    return true;
  }

  double fraction_read() const override {
    const auto before = static_cast<double>(file_ > 0 ? file_ - 1 : 0);
    return (before + (rows_ ? rows_->fraction_read() : 0)) / static_cast<double>(files_.size());
  }

 private:
  void open(const std::string& path) {
    const auto kind = formats::table_kind(path);
    if (!kind) {
      throw formats::Error(
          path + ": unknown format, task data must be .csv, .tsv, .jsonl or .parquet files");
    }
    rows_ = std::make_unique<formats::TableReader>(path, *kind, task_.columns());
  }

  inference::ScoreTask task_;
  std::vector<std::string> files_;
  std::size_t file_ = 0;
  std::unique_ptr<formats::TableReader> rows_;
  std::vector<std::optional<std::string>> fields_;
};

class TextItems : public ScoreItemReader {
 public:
  explicit TextItems(std::vector<std::string> files) : files_(std::move(files)) {}

  bool next(ScoreItem& item) override {
    if (at_ == files_.size()) {
      return false;
    }
    item = {};
    std::string whole;
    formats::LineReader lines(files_[at_++], {.splits_long = true, .keeps_carriage_returns = true});
    for (std::string_view line; lines.next(line);) {
      whole += line;
      whole += lines.continues() ? "" : "\n";
    }
    item.text = std::move(whole);
    return true;
  }
  /// The tokens of a text count.
  double fraction_read() const override { return -1; }

 private:
  std::vector<std::string> files_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ScoreItemReader> open_items(const Arguments& arguments) {
  return std::make_unique<RowItems>(arguments);
}

std::unique_ptr<ScoreItemReader> open_task(const std::string& path,
                                           const std::vector<std::string>& data) {
  const auto document = config::Document::load(path);
  auto section = document.root();
  auto task = inference::ScoreTask::read(section);
  auto files = data.empty() ? task.data() : data;
  if (files.empty()) {
    throw formats::Error(path + ": no data given, set it in the task file or with --data FILE");
  }
  return std::make_unique<TaskItems>(std::move(task), std::move(files));
}

std::unique_ptr<ScoreItemReader> open_texts(const std::vector<std::string>& files) {
  return std::make_unique<TextItems>(files);
}

}  // namespace weft::cli
