#include "cli/predict/request_reader.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/predict/line_input.h"
#include "data/images/image_source.h"
#include "data/rows/labelled_rows.h"
#include "formats/json.h"
#include "formats/table_reader.h"
#include "kernels/parallel.h"
#include "models/directory.h"
#include "train/step/evaluate_directory.h"

namespace weft::cli {
namespace {

using formats::Json;

/// Those of a table that can be read; warns about the others.
std::vector<std::string> readable_columns(const std::string& path, formats::TableKind kind) {
  auto columns = formats::read_column_names(path, kind);
  for (const auto& [name, error] : formats::unreadable_columns(path, kind)) {
    log::warning("[input] not passed on: " + error);
    std::erase(columns, name);
  }
  return columns;
}

/// The columns that occur once: a name that occurs twice can only be reported if it is asked for.
std::vector<std::string> distinct(const std::vector<std::string>& columns) {
  std::vector<std::string> found;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(found), [&](const auto& name) {
    return std::count(columns.begin(), columns.end(), name) == 1;
  });
  return found;
}

class TableInput : public InputReader {
 public:
  TableInput(const std::string& path, formats::TableKind kind)
      : header_(readable_columns(path, kind)),
        columns_(distinct(header_)),
        reader_(path, kind, columns_, {.lists = columns_}) {}

  bool next(InputRow& row) override {
    if (!reader_.next(fields_)) {
      return false;
    }
    row = {.location = reader_.location(), .is_of_table = true};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      row.fields[columns_[i]] = fields_[i] ? Json(*std::move(fields_[i])) : Json();
    }
    return true;
  }

  std::vector<std::string> table_columns() const override { return header_; }
  int64_t blank_lines() const override { return reader_.blank_lines(); }
  double fraction_read() const override { return reader_.fraction_read(); }

 private:
  std::vector<std::string> header_;
  std::vector<std::string> columns_;
  formats::TableReader reader_;
  std::vector<std::optional<std::string>> fields_;
};

class TextInput : public InputReader {
 public:
  explicit TextInput(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  bool next(InputRow& row) override {
    if (at_ == texts_.size()) {
      return false;
    }
    row = {.fields = {{"text", texts_[at_++]}}, .location = str_cat("text ", at_)};
    return true;
  }
  double fraction_read() const override {
    return static_cast<double>(at_) / static_cast<double>(texts_.size());
  }

 private:
  std::vector<std::string> texts_;
  std::size_t at_ = 0;
};

class ImageInput : public InputReader {
 public:
  explicit ImageInput(const std::vector<std::string>& paths) {
    for (const auto& path : paths) {
      if (!std::filesystem::exists(path)) {
        throw formats::Error(path + ": no such file or folder");
      }
      parts_.push_back({path, nullptr});
      if (!formats::is_image_name(path)) {
        parts_.back().many = data::open_images({.path = path, .files = {path}}, false);
      }
      size_ += size_of(parts_.back());
    }
  }

  bool next(InputRow& row) override {
    while (part_ < parts_.size() && at_ == size_of(parts_[part_])) {
      ++part_;
      at_ = 0;
    }
    if (part_ == parts_.size()) {
      return false;
    }
    const auto& [path, many] = parts_[part_];
    row = {.location = many ? many->location(at_) : path};
    row.fields["image"] = row.location;
    if (many) {
      row.image = many->image(at_);
    }
    ++at_;
    ++done_;
    return true;
  }
  double fraction_read() const override {
    return static_cast<double>(done_) / static_cast<double>(size_);
  }

 private:
  struct Part {
    std::string path;
    std::unique_ptr<const data::ImageSource> many;  // null: the file is one image
  };
  static int64_t size_of(const Part& part) { return part.many ? part.many->size() : 1; }

  std::vector<Part> parts_;
  std::size_t part_ = 0;
  int64_t at_ = 0;    // in the part
  int64_t done_ = 0;  // images
  int64_t size_ = 0;
};

std::optional<std::string> key_among(const Json& fields, const std::vector<std::string>& keys) {
  const auto found =
      std::ranges::find_if(keys, [&](const std::string& key) { return fields.contains(key); });
  return found == keys.end() ? std::nullopt : std::optional(*found);
}

[[noreturn]] void reject_row(const InputRow& row, const RequestColumns& columns) {
  const auto key = columns.text.value_or("text");
  throw formats::Error(str_cat(row.location, ": not a JSON object with \"", key, "\", as in {\"",
                               key, "\": \"...\"}"));
}

std::string text_at(const InputRow& row, const std::string& key) {
  const auto& value = row.fields.at(key);
  if (value.is_null()) {
    throw formats::Error(str_cat(row.location, ": no field `", key, "`, every row must have it"));
  }
  if (!value.is_string()) {
    throw formats::Error(str_cat(row.location, ": \"", key, "\" is not a string"));
  }
  return value.get<std::string>();
}

}  // namespace

std::size_t rows_at_once() {
  constexpr int64_t kRowsPerThread = 512;
  constexpr int64_t kFewestRows = 1024;
  return static_cast<std::size_t>(
      std::max(kFewestRows, kRowsPerThread * kernels::parallel_threads()));
}

InputProgress::InputProgress(std::string activity, const Arguments& arguments)
    : activity_(std::move(activity)),
      is_shown_(arguments.get("output", "-") != "-" || isatty(STDOUT_FILENO) == 0) {
  show(-1);
}

InputProgress::~InputProgress() { log::set_progress_line(""); }

void InputProgress::show(double fraction) const {
  if (is_shown_) {
    log::set_progress(activity_, fraction);
  }
}

std::unique_ptr<InputReader> open_input(const Arguments& arguments, LineFormat format) {
  const auto path = arguments.get("input", "-");
  if (arguments.has("plain")) {
    format = LineFormat::kPlain;
  }
  const auto kind = formats::table_kind(path);
  if (format != LineFormat::kPlain && kind && *kind != formats::TableKind::kJsonl) {
    return std::make_unique<TableInput>(path, *kind);
  }
  return std::make_unique<LineInput>(path, format);
}

std::vector<std::string> given_texts(const Arguments& arguments,
                                     const std::string& option,
                                     const std::vector<std::string>& excluded) {
  const auto& positional = arguments.positional();
  std::vector<std::string> given(positional.begin() + 1, positional.end());
  const auto texts = arguments.all(option);
  given.insert(given.end(), texts.begin(), texts.end());
  for (const auto& name : excluded) {
    if (!given.empty() && arguments.has(name)) {
      arguments.fail("--" + name + " and texts on the command line are mutually exclusive");
    }
  }
  return given;
}

std::unique_ptr<InputReader> input_of_texts(std::vector<std::string> texts) {
  return std::make_unique<TextInput>(std::move(texts));
}

std::unique_ptr<InputReader> input_of_images(const std::vector<std::string>& paths) {
  return std::make_unique<ImageInput>(paths);
}

void declare_columns(Arguments& arguments, bool are_pairs) {
  arguments.value("text-column", "NAME",
                  "Column (key) with the text (default: in tables that of the training data, else "
                  "text, sentence1 or sentence)");
  if (are_pairs) {
    arguments.value(
        "text-pair-column", "NAME",
        "Column (key) with the second text (default: in tables that of the training data, else "
        "text_pair or sentence2, if present)");
  }
}

RequestColumns read_columns(const Arguments& arguments,
                            const InputReader& input,
                            const std::optional<std::string>& text) {
  RequestColumns columns{.text = text};
  if (arguments.has("text-column")) {
    columns.text = arguments.get("text-column");
  }
  if (arguments.has("text-pair-column")) {
    columns.text_pair = arguments.get("text-pair-column");
  }
  const auto there = input.table_columns();
  if (there.empty()) {
    return columns;
  }
  const auto trained =
      train::trained_text_columns(models::model_directory(arguments.positional().front()));
  const auto is_there = [&](const auto& name) {
    return name && formats::find_column(*name, there);
  };
  if (!columns.text && is_there(trained.text)) {
    columns.text = trained.text;
    if (!columns.text_pair && is_there(trained.text_pair)) {
      columns.text_pair = trained.text_pair;
    }
  }
  const auto path = arguments.get("input");
  const auto& usual = data::default_text_columns();
  if (!columns.text && !formats::first_column(usual, there)) {
    throw formats::Error(str_cat(path, ": no column ", join(usual, " or "), ", choose one of ",
                                 quoted_text(there), " with --text-column"));
  }
  auto found = data::text_columns(columns.text, columns.text_pair, there, path);
  for (auto& name : found) {
    name = formats::require_column(name, there, path);
  }
  columns = {.text = found[0], .text_pair = std::nullopt, .is_of_table = true};
  if (found.size() > 1) {
    columns.text_pair = found[1];
  }
  return columns;
}

Json value_at(const InputRow& row, const std::string& key) {
  const auto found = row.fields.find(key);
  if (found == row.fields.end()) {
    return {};
  }
  if (row.is_of_table && found->is_string()) {
    if (auto value = Json::parse(found->get<std::string>(), nullptr, false);
        !value.is_discarded()) {
      return value;
    }
  }
  return *found;
}

inference::PredictionRequest request_of(const InputRow& row, const RequestColumns& columns) {
  inference::PredictionRequest request;
  request.image = row.image;
  const auto key =
      columns.text ? columns.text : key_among(row.fields, data::default_text_columns());
  if (!key || !row.fields.contains(*key)) {
    reject_row(row, columns);
  }
  request.text = text_at(row, *key);
  const bool is_looked_up = !columns.text_pair && !columns.is_of_table;
  const auto pair =
      is_looked_up ? key_among(row.fields, data::default_pair_columns()) : columns.text_pair;
  if (pair && row.fields.contains(*pair) && !row.fields[*pair].is_null()) {
    request.text_pair = text_at(row, *pair);
  } else if (columns.text_pair) {
    throw formats::Error(
        str_cat(row.location, ": no \"", *columns.text_pair, "\", every line must have one"));
  }
  return request;
}

void RequestCounts::add(const inference::PredictionRequest& query) {
  ++requests_;
  const bool is_empty =
      trim(query.text).empty() || (query.text_pair && trim(*query.text_pair).empty());
  empty_ += is_empty ? 1 : 0;
  pairs_ += query.text_pair ? 1 : 0;
}

void RequestCounts::sum(train::ProcessGroup& group) {
  for (auto* const count : {&requests_, &empty_, &pairs_}) {
    *count = group.sum_count(*count);
  }
}

void RequestCounts::report_blank(std::string_view command, int64_t lines) {
  if (lines > 0) {
    log::warning(str_cat("[", command, "] ", counted(lines, "blank input line"), " ",
                         was_or_were(lines), " skipped"));
  }
}

void RequestCounts::report(bool is_of_pairs) const {
  if (empty_ > 0) {
    log::warning(str_cat("[predict] ", with_commas(empty_), " of ", with_commas(requests_),
                         " texts are empty; they were processed like any other"));
  }
  if (pairs_ < requests_ && (pairs_ > 0 || is_of_pairs)) {
    log::warning(str_cat("[predict] ", with_commas(requests_ - pairs_), " of ",
                         with_commas(requests_), " lines have no second text, but ",
                         pairs_ > 0 ? "others have one" : "the model was trained on pairs"));
  }
}

}  // namespace weft::cli
