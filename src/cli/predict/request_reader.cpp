#include "cli/predict/request_reader.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/string_util.h"
#include "data/rows/labelled_rows.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::cli {
namespace {

constexpr std::array<std::string_view, 3> kQueryTexts = {"text", "sentence1", "sentence"};
constexpr std::array<std::string_view, 2> kPairs = {"text_pair", "sentence2"};

class TableRequestReader : public RequestReader {
 public:
  TableRequestReader(const std::string& path,
                     formats::TableKind kind,
                     const RequestColumns& columns)
      : texts_(data::text_columns(
            columns.text, columns.text_pair, formats::read_column_names(path, kind), path)),
        reader_(path, kind, texts_) {}

  bool next(inference::PredictionRequest& query) override {
    if (!reader_.next(fields_)) {
      return false;
    }
    if (!fields_[0]) {
      throw formats::Error(
          str_cat(location(), ": no field `", texts_[0], "`, every row must have it"));
    }
    query.text = std::move(*fields_[0]);
    query.text_pair = fields_.size() > 1 ? std::move(fields_[1]) : std::nullopt;
    return true;
  }

  std::string location() const override { return reader_.location(); }
  int64_t blank_lines() const override { return reader_.blank_lines(); }

 private:
  std::vector<std::string> texts_;
  formats::TableReader reader_;
  std::vector<std::optional<std::string>> fields_;
};

class JsonRequestReader : public RequestReader {
 public:
  JsonRequestReader(const std::string& path, RequestColumns columns)
      : lines_(path), columns_(std::move(columns)) {}

  bool next(inference::PredictionRequest& query) override {
    std::string_view raw;
    for (;;) {
      if (!lines_.next(raw)) {
        return false;
      }
      if (!trim(raw).empty()) {
        break;
      }
      ++blank_;
    }
    const auto line = formats::parse_json(raw, location());
    if (!line.is_object()) {
      reject_line();
    }
    const auto key = columns_.text ? columns_.text : key_among(line, kQueryTexts);
    if (!key || !line.contains(*key)) {
      reject_line();
    }
    query.text = text_at(line, *key);
    query.text_pair.reset();
    const auto pair = columns_.text_pair ? columns_.text_pair : key_among(line, kPairs);
    if (pair && line.contains(*pair) && !line[*pair].is_null()) {
      query.text_pair = text_at(line, *pair);
    } else if (columns_.text_pair) {
      throw formats::Error(
          str_cat(location(), ": no \"", *columns_.text_pair, "\", every line must have one"));
    }
    return true;
  }

  std::string location() const override { return lines_.location(); }
  int64_t blank_lines() const override { return blank_; }

 private:
  template <class Keys>
  static std::optional<std::string> key_among(const formats::Json& line, const Keys& keys) {
    for (const auto key : keys) {
      if (line.contains(key)) {
        return std::string(key);
      }
    }
    return std::nullopt;
  }

  [[noreturn]] void reject_line() const {
    const auto key = columns_.text.value_or("text");
    throw formats::Error(str_cat(location(), ": not a JSON object with \"", key, "\", as in {\"",
                                 key, "\": \"...\"}"));
  }

  std::string text_at(const formats::Json& line, const std::string& key) const {
    const auto& value = line.at(key);
    if (!value.is_string()) {
      throw formats::Error(str_cat(location(), ": \"", key, "\" is not a string"));
    }
    return value.get<std::string>();
  }

  formats::LineReader lines_;
  RequestColumns columns_;
  int64_t blank_ = 0;
};

}  // namespace

std::unique_ptr<RequestReader> open_requests(const std::string& path,
                                             const RequestColumns& columns) {
  const auto kind = formats::table_kind(path);
  if (kind && *kind != formats::TableKind::kJsonl) {
    return std::make_unique<TableRequestReader>(path, *kind, columns);
  }
  return std::make_unique<JsonRequestReader>(path, columns);
}

void RequestCounts::add(const inference::PredictionRequest& query) {
  ++requests_;
  const bool is_empty =
      trim(query.text).empty() || (query.text_pair && trim(*query.text_pair).empty());
  empty_ += is_empty ? 1 : 0;
  pairs_ += query.text_pair ? 1 : 0;
}

void RequestCounts::report_blank(std::string_view verb, int64_t lines) {
  if (lines > 0) {
    log::warning(str_cat("[", verb, "] ", with_commas(lines), " blank input lines were skipped"));
  }
}

void RequestCounts::report() const {
  if (empty_ > 0) {
    log::warning(str_cat("[predict] ", with_commas(empty_), " of ", with_commas(requests_),
                         " texts are empty; they were processed like any other"));
  }
  if (pairs_ > 0 && pairs_ < requests_) {
    log::warning(str_cat("[predict] ", with_commas(requests_ - pairs_), " of ",
                         with_commas(requests_),
                         " lines have no second text, but others have one"));
  }
}

}  // namespace weft::cli
