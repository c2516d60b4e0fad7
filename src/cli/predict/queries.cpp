#include "cli/predict/queries.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "data/rows/labelled_rows.h"
#include "formats/json.h"
#include "formats/lines.h"
#include "formats/table.h"

namespace weft::cli {
namespace {

constexpr std::array<std::string_view, 3> kQueryTexts = {"text", "sentence1", "sentence"};
constexpr std::array<std::string_view, 2> kPairs = {"text_pair", "sentence2"};

class TableQueries : public Queries {
 public:
  TableQueries(const std::string& path, formats::TableKind kind, const QueryColumns& columns)
      : texts_(data::text_columns(
            columns.text, columns.text_pair, formats::columns_of(path, kind), path)),
        reader_(path, kind, texts_) {}

  bool next(inference::Query& query) override {
    if (!reader_.next(fields_)) {
      return false;
    }
    query.text = std::move(fields_[0].value());  // a csv or tsv row has every field
    query.text_pair = fields_.size() > 1 ? std::move(fields_[1]) : std::nullopt;
    return true;
  }

  std::string place() const override { return reader_.place(); }
  int64_t blank_lines() const override { return reader_.blank_lines(); }

 private:
  std::vector<std::string> texts_;
  formats::TableReader reader_;
  std::vector<std::optional<std::string>> fields_;
};

class LineQueries : public Queries {
 public:
  LineQueries(const std::string& path, QueryColumns columns)
      : lines_(path), columns_(std::move(columns)) {}

  bool next(inference::Query& query) override {
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
    const auto line = formats::parse_json(raw, place());
    if (!line.is_object()) {
      refuse_line();
    }
    const auto key = columns_.text ? columns_.text : key_among(line, kQueryTexts);
    if (!key || !line.contains(*key)) {
      refuse_line();
    }
    query.text = text_at(line, *key);
    query.text_pair.reset();
    const auto pair = columns_.text_pair ? columns_.text_pair : key_among(line, kPairs);
    if (pair && line.contains(*pair) && !line[*pair].is_null()) {
      query.text_pair = text_at(line, *pair);
    } else if (columns_.text_pair) {
      throw formats::Error(
          text(place(), ": no \"", *columns_.text_pair, "\", every line must have one"));
    }
    return true;
  }

  std::string place() const override { return lines_.place(); }
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

  [[noreturn]] void refuse_line() const {
    const auto key = columns_.text.value_or("text");
    throw formats::Error(
        text(place(), ": not a JSON object with \"", key, "\", as in {\"", key, "\": \"...\"}"));
  }

  std::string text_at(const formats::Json& line, const std::string& key) const {
    const auto& value = line.at(key);
    if (!value.is_string()) {
      throw formats::Error(text(place(), ": \"", key, "\" is not a string"));
    }
    return value.get<std::string>();
  }

  formats::LineReader lines_;
  QueryColumns columns_;
  int64_t blank_ = 0;
};

}  // namespace

std::unique_ptr<Queries> open_queries(const std::string& path, const QueryColumns& columns) {
  const auto kind = formats::table_kind(path);
  if (kind && *kind != formats::TableKind::kJsonl) {
    return std::make_unique<TableQueries>(path, *kind, columns);
  }
  return std::make_unique<LineQueries>(path, columns);
}

void QueryCounts::add(const inference::Query& query) {
  ++queries_;
  const bool is_empty =
      trim(query.text).empty() || (query.text_pair && trim(*query.text_pair).empty());
  empty_ += is_empty ? 1 : 0;
  pairs_ += query.text_pair ? 1 : 0;
}

void QueryCounts::report_blank(std::string_view verb, int64_t lines) {
  if (lines > 0) {
    log::warning(text("[", verb, "] ", with_commas(lines),
                      " blank lines of the input are no rows and got no answers"));
  }
}

void QueryCounts::report() const {
  if (empty_ > 0) {
    log::warning(text("[predict] ", with_commas(empty_), " of ", with_commas(queries_),
                      " texts are empty; they were answered like any other"));
  }
  if (pairs_ > 0 && pairs_ < queries_) {
    log::warning(text("[predict] ", with_commas(queries_ - pairs_), " of ", with_commas(queries_),
                      " lines have no second text, the others have one"));
  }
}

}  // namespace weft::cli
