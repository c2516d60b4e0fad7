#include "base/string_util.h"
#include "config/reference.h"

namespace weft::config {

namespace {

bool is_page_section(const Declaration& key) {
  return key.type == KeyType::kSection || key.type == KeyType::kSectionList;
}

/// Escapes a Markdown table cell: `|` would end it.
std::string cell(std::string_view content) {
  std::string result;
  for (const char character : content) {
    result += character == '|' ? "\\|" : std::string(1, character);
  }
  return result;
}

std::string row(const Declaration& key) {
  const std::string name(split(key.path, '.').back());
  std::string value = key.is_required ? "required" : "`" + key.default_value + "`";
  if (is_page_section(key) && !key.is_required) {
    value.clear();
  }
  const std::string only = key.only_if.empty() ? "" : str_cat(" Only with ", key.only_if, ".");
  return str_cat("| `", name, "` | ", cell(type_of(key)), " | ", cell(value), " | ", cell(key.help),
                 cell(only), " |\n");
}

/// Formats the keys directly below `prefix` (`model.`) as a table.
std::string table(const Declarations& declarations, const std::string& prefix) {
  std::string rows;
  for (const auto& key : declarations.keys) {
    if (key.path.starts_with(prefix) && key.path.find('.', prefix.size()) == std::string::npos) {
      rows += row(key);
    }
  }
  return rows.empty() ? ""
                      : "| key | type | default | meaning |\n| --- | --- | --- | --- |\n" + rows;
}

}  // namespace

std::string reference_page(const Declarations& declarations) {
  std::string page =
      "# Configuration reference\n\n"
      "Every key that a config file may hold. This page is written by `weft config reference`; "
      "`weft config explain KEY` shows one key,\nand `weft config schema` writes a JSON schema for "
      "editors. A duration is a number and a unit: `2000 steps`, `3 epochs`,\n`10M tokens` (k, M, "
      "G), `45 minutes`. `--set KEY=VALUE` overrides any key; an item of a list is named by its "
      "number, from 0:\n`--set data.train.0.weight=2`.\n\n## The top\n\n";
  page += table(declarations, "");
  for (const auto& key : declarations.keys) {
    if (!is_page_section(key)) {
      continue;
    }
    const bool is_list = key.type == KeyType::kSectionList;
    const std::string only = key.only_if.empty() ? "" : str_cat(" Only with ", key.only_if, ".");
    page += str_cat("\n## ", key.path, is_list ? " (each item)" : "", "\n\n", key.help, only,
                    "\n\n", table(declarations, key.path + (is_list ? ".*." : ".")));
  }
  return page;
}

}  // namespace weft::config
