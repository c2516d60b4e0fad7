#include "cli/generate/prompt_reader.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::cli {
namespace {

using inference::GenerationRequest;

constexpr std::array<std::string_view, 3> kPromptTexts{"prompt", "source", "text"};

class JsonPromptReader : public PromptReader {
 public:
  explicit JsonPromptReader(const PromptSource& source)
      : lines_(source.path), column_(source.column) {}

  bool next(GenerationRequest& query) override {
    std::string_view raw;
    do {
      if (!lines_.next(raw)) {
        return false;
      }
      blank_ += trim(raw).empty() ? 1 : 0;
    } while (trim(raw).empty());
    const auto line = formats::parse_json(raw, lines_.location());
    query = {};
    if (line.is_object() && !column_ && line.contains("ids")) {
      query.ids = ids_of(line["ids"]);
      return true;
    }
    const auto key = key_of(line);
    if (!line.is_object() || !line.contains(key) || !line[key].is_string()) {
      throw formats::Error(str_cat(lines_.location(), ": not a JSON object with a string \"", key,
                                   "\", as in {\"", key, "\": \"...\"}"));
    }
    query.prompt = line[key].get<std::string>();
    return true;
  }

  int64_t blank_lines() const override { return blank_; }
  bool has_input() const override { return lines_.has_input(); }
  double fraction_read() const override { return lines_.fraction_read(); }

 private:
  std::string key_of(const formats::Json& line) const {
    if (column_) {
      return *column_;
    }
    for (const auto key : kPromptTexts) {
      if (line.is_object() && line.contains(key)) {
        return std::string(key);
      }
    }
    return std::string(kPromptTexts[0]);
  }

  models::Tokens ids_of(const formats::Json& value) const {
    models::Tokens ids;
    if (value.is_array()) {
      for (const auto& id : value) {
        if (!id.is_number_integer()) {
          break;
        }
        ids.push_back(id.get<int64_t>());
      }
    }
    if (!value.is_array() || value.empty() || ids.size() != value.size()) {
      throw formats::Error(lines_.location() + ": \"ids\" is not a list of ids");
    }
    return ids;
  }

  formats::LineReader lines_;
  std::optional<std::string> column_;
  int64_t blank_ = 0;
};

class PlainPromptReader : public PromptReader {
 public:
  explicit PlainPromptReader(const std::string& path) : lines_(path) {}
  bool next(GenerationRequest& query) override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    query = {.prompt = std::string(line)};
    return true;
  }
  bool has_input() const override { return lines_.has_input(); }
  double fraction_read() const override { return lines_.fraction_read(); }

 private:
  formats::LineReader lines_;
};

class TablePromptReader : public PromptReader {
 public:
  TablePromptReader(const std::string& path, formats::TableKind kind, const std::string& column)
      : column_(column), rows_(path, kind, {column}) {}
  bool next(GenerationRequest& query) override {
    if (!rows_.next(fields_)) {
      return false;
    }
    query = {.prompt = std::move(rows_.require(fields_[0], column_))};
    return true;
  }
  int64_t blank_lines() const override { return rows_.blank_lines(); }
  double fraction_read() const override { return rows_.fraction_read(); }

 private:
  std::string column_;
  formats::TableReader rows_;
  std::vector<std::optional<std::string>> fields_;
};

class ListPromptReader : public PromptReader {
 public:
  explicit ListPromptReader(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  bool next(GenerationRequest& query) override {
    if (at_ == texts_.size()) {
      return false;
    }
    query = {.prompt = texts_[at_++]};
    return true;
  }
  double fraction_read() const override {
    return static_cast<double>(at_) / static_cast<double>(texts_.size());
  }

 private:
  std::vector<std::string> texts_;
  std::size_t at_ = 0;
};

std::string column_among(const std::string& path, formats::TableKind kind) {
  const auto columns = formats::read_column_names(path, kind);
  for (const auto name : kPromptTexts) {
    for (const auto& column : columns) {
      if (column == name) {
        return column;
      }
    }
  }
  throw formats::Error(str_cat(path, ": no column prompt, source or text; the columns are ",
                               join(columns), "; select one with --prompt-column"));
}

}  // namespace

std::unique_ptr<PromptReader> open_prompts(const PromptSource& source) {
  if (source.is_plain) {
    return std::make_unique<PlainPromptReader>(source.path);
  }
  const auto kind = formats::table_kind(source.path);
  if (kind && *kind != formats::TableKind::kJsonl) {
    return std::make_unique<TablePromptReader>(
        source.path, *kind, source.column ? *source.column : column_among(source.path, *kind));
  }
  return std::make_unique<JsonPromptReader>(source);
}

std::unique_ptr<PromptReader> prompts_from_texts(std::vector<std::string> texts) {
  return std::make_unique<ListPromptReader>(std::move(texts));
}

}  // namespace weft::cli
