#include "base/text.h"
#include "config/reference.h"

namespace weft::config {

namespace {

bool is_page_section(const Declaration& key) {
  return key.type == KeyType::kSection || key.type == KeyType::kSectionList;
}

/// A cell of a Markdown table: `|` would end it.
std::string cell(std::string_view content) {
  std::string result;
  for (const char sign : content) {
    result += sign == '|' ? "\\|" : std::string(1, sign);
  }
  return result;
}

std::string row(const Declaration& key) {
  const std::string name(split(key.path, '.').back());
  std::string value = key.is_required ? "required" : "`" + key.default_value + "`";
  if (is_page_section(key) && !key.is_required) {
    value.clear();
  }
  const std::string only = key.only.empty() ? "" : text(" Only with ", key.only, ".");
  return text("| `", name, "` | ", cell(type_of(key)), " | ", cell(value), " | ", cell(key.help),
              cell(only), " |\n");
}

/// The keys directly below `prefix` (`model.`), as a table.
std::string table(const Described& described, const std::string& prefix) {
  std::string rows;
  for (const auto& key : described.keys) {
    if (key.path.starts_with(prefix) && key.path.find('.', prefix.size()) == std::string::npos) {
      rows += row(key);
    }
  }
  return rows.empty() ? ""
                      : "| key | type | default | meaning |\n| --- | --- | --- | --- |\n" + rows;
}

}  // namespace

std::string reference_page(const Described& described) {
  std::string page =
      "# Configuration reference\n\n"
      "Every key that a config file may hold. This page is written by `weft config reference`; "
      "`weft config explain KEY` shows one key,\nand `weft config schema` writes a JSON schema for "
      "editors. A duration is a number and a unit: `2000 steps`, `3 epochs`,\n`10M tokens` (k, M, "
      "G), `45 minutes`. `--set KEY=VALUE` overrides any key; an item of a list is named by its "
      "number, from 0:\n`--set data.train.0.weight=2`.\n\n## The top\n\n";
  page += table(described, "");
  for (const auto& key : described.keys) {
    if (!is_page_section(key)) {
      continue;
    }
    const bool is_list = key.type == KeyType::kSectionList;
    const std::string only = key.only.empty() ? "" : text(" Only with ", key.only, ".");
    page += text("\n## ", key.path, is_list ? " (each item)" : "", "\n\n", key.help, only, "\n\n",
                 table(described, key.path + (is_list ? ".*." : ".")));
  }
  return page;
}

}  // namespace weft::config
