#include "cli/help.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <unistd.h>

#include "base/log.h"
#include "base/string_util.h"

namespace weft::cli {

namespace {

constexpr std::size_t kDefaultWidth = 100;
constexpr std::size_t kMinWidth = 60;
constexpr std::size_t kMaxWidth = 120;

std::size_t environment_width() {
  const char* const value = std::getenv("COLUMNS");
  const std::string_view text = value == nullptr ? "" : value;
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  return width > 0 ? width : kDefaultWidth;
}

/// Column of the text after the first gap of two spaces, else that of the first character.
std::size_t hanging_indent(std::string_view line) {
  const auto begin = std::min(line.find_first_not_of(' '), line.size());
  const auto gap = line.find("  ", begin);
  const auto text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string_view::npos ? begin : text;
}

std::string wrap_line(std::string_view line, std::size_t width) {
  const std::string indent(hanging_indent(line), ' ');
  std::string result;
  std::string rest(line);
  while (rest.size() > width) {
    auto end = rest.rfind(' ', width);
    if (end == std::string::npos || end <= indent.size()) {
      end = rest.find(' ', width);  // of a word that is too long
    }
    if (end == std::string::npos) {
      break;
    }
    result += rest.substr(0, end) + "\n";
    rest = indent + rest.substr(end + 1);
  }
  return result + rest;
}

}  // namespace

std::size_t help_width() {
  const auto columns = log::terminal_columns(STDOUT_FILENO);
  return std::clamp(columns > 0 ? columns : environment_width(), kMinWidth, kMaxWidth);
}

std::string wrap_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) {
    lines.push_back(wrap_line(line, width));
  }
  return join(lines, "\n");
}

std::string help_row(const std::string& name, std::size_t width, const std::string& summary) {
  return "  " + name + std::string(width - std::min(width, name.size()), ' ') + summary;
}

std::string command_of(std::string_view usage) {
  auto words = split(usage, ' ');
  words.erase(words.begin());
  std::vector<std::string> names;
  for (const auto word : words) {
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos) {
      break;
    }
    names.emplace_back(word);
  }
  return join(names, " ");
}

}  // namespace weft::cli
