#include "cli/generate/prompts.h"

#include <array>
#include <string_view>

#include "base/text.h"
#include "formats/json.h"
#include "formats/lines.h"
#include "formats/table.h"

namespace weft::cli {
namespace {

using inference::GenerationQuery;

constexpr std::array<std::string_view, 3> kPromptTexts{"prompt", "source", "text"};

class JsonPrompts : public Prompts {
 public:
  explicit JsonPrompts(const PromptSource& source) : lines_(source.path), column_(source.column) {}

  bool next(GenerationQuery& query) override {
    std::string_view raw;
    do {
      if (!lines_.next(raw)) {
        return false;
      }
      blank_ += trim(raw).empty() ? 1 : 0;
    } while (trim(raw).empty());
    const auto line = formats::parse_json(raw, lines_.place());
    query = {};
    if (line.is_object() && !column_ && line.contains("ids")) {
      query.ids = ids_of(line["ids"]);
      return true;
    }
    const auto key = key_of(line);
    if (!line.is_object() || !line.contains(key) || !line[key].is_string()) {
      throw formats::Error(text(lines_.place(), ": not a JSON object with a text \"", key,
                                "\", as in {\"", key, "\": \"...\"}"));
    }
    query.prompt = line[key].get<std::string>();
    return true;
  }

  int64_t blank_lines() const override { return blank_; }

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
      throw formats::Error(lines_.place() + ": \"ids\" is not a list of ids");
    }
    return ids;
  }

  formats::LineReader lines_;
  std::optional<std::string> column_;
  int64_t blank_ = 0;
};

class PlainPrompts : public Prompts {
 public:
  explicit PlainPrompts(const std::string& path) : lines_(path) {}
  bool next(GenerationQuery& query) override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    query = {.prompt = std::string(line)};
    return true;
  }

 private:
  formats::LineReader lines_;
};

class TablePrompts : public Prompts {
 public:
  TablePrompts(const std::string& path, formats::TableKind kind, const std::string& column)
      : rows_(path, kind, {column}) {}
  bool next(GenerationQuery& query) override {
    if (!rows_.next(fields_)) {
      return false;
    }
    query = {.prompt = fields_[0].value_or("")};
    return true;
  }
  int64_t blank_lines() const override { return rows_.blank_lines(); }

 private:
  formats::TableReader rows_;
  std::vector<std::optional<std::string>> fields_;
};

class GivenPrompts : public Prompts {
 public:
  explicit GivenPrompts(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  bool next(GenerationQuery& query) override {
    if (at_ == texts_.size()) {
      return false;
    }
    query = {.prompt = texts_[at_++]};
    return true;
  }

 private:
  std::vector<std::string> texts_;
  std::size_t at_ = 0;
};

std::string column_among(const std::string& path, formats::TableKind kind) {
  const auto columns = formats::columns_of(path, kind);
  for (const auto name : kPromptTexts) {
    for (const auto& column : columns) {
      if (column == name) {
        return column;
      }
    }
  }
  throw formats::Error(text(path, ": no column prompt, source or text; there are ", join(columns),
                            "; name one with --prompt-column"));
}

}  // namespace

std::unique_ptr<Prompts> open_prompts(const PromptSource& source) {
  if (source.is_plain) {
    return std::make_unique<PlainPrompts>(source.path);
  }
  const auto kind = formats::table_kind(source.path);
  if (kind && *kind != formats::TableKind::kJsonl) {
    return std::make_unique<TablePrompts>(
        source.path, *kind, source.column ? *source.column : column_among(source.path, *kind));
  }
  return std::make_unique<JsonPrompts>(source);
}

std::unique_ptr<Prompts> prompts_of(std::vector<std::string> texts) {
  return std::make_unique<GivenPrompts>(std::move(texts));
}

}  // namespace weft::cli
