#include "config/yaml_source.h"

#include <algorithm>
#include <array>

#include "base/string_util.h"
#include "base/utf8.h"
#include "config/section.h"

namespace weft::config {

namespace {

/// Translates the parser's messages for the author of the config.
std::string yaml_explained(const std::string& message) {
  static const std::array<std::pair<std::string_view, std::string_view>, 13> kMeanings = {{
      {YAML::ErrorMsg::MAP_VALUE,
       "':' is not allowed here; indent all keys of a map equally, put a space after each ':', and "
       "quote text that contains ': '"},
      {YAML::ErrorMsg::MAP_KEY, "a key is not allowed here; indent all keys of a map equally"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a list item is not allowed here; indent all items equally"},
      {YAML::ErrorMsg::END_OF_MAP,
       "a key of this map was expected; indent all keys equally, as in 'key: value'"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "a '{' is not closed: ',' or '}' was expected"},
      {YAML::ErrorMsg::END_OF_SEQ,
       "an item of this list ('- ') was expected; indent all items equally"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a '[' is not closed: ',' or ']' was expected"},
      {YAML::ErrorMsg::FLOW_END, "a '}' or ']' without an opening bracket"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "the file ends inside quotes: a closing quote is missing"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "an alias ('*name') of an anchor that is not defined above"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "a character that cannot begin a value; put text in quotes"},
      {YAML::ErrorMsg::DOC_IN_SCALAR, "'---' or '...' inside quotes: a closing quote is missing"},
      {YAML::ErrorMsg::CHAR_IN_SCALAR,
       "a character that is not allowed in unquoted text; put it in quotes"},
  }};
  // The message ends with one byte of the character, not all of it.
  if (message.starts_with(YAML::ErrorMsg::INVALID_ESCAPE)) {
    return "an invalid escape after '\\'; write '\\\\', or use single quotes";
  }
  for (const auto& [said, meaning] : kMeanings) {
    if (message == said) {
      return std::string(meaning);
    }
  }
  return message;
}

/// Returns the position of the first tab in the indentation up to `line`, if any: the likely cause
/// of the parser's error.
std::optional<std::pair<int, int>> indenting_tab(std::string_view content, int line) {
  int row = 0;
  for (const auto text : split(content, '\n')) {
    const auto indent = text.substr(0, text.find_first_not_of(" \t"));
    const auto tab = indent.find('\t');
    if (tab != std::string_view::npos && indent.size() < text.size()) {
      return std::pair(row, static_cast<int>(tab));
    }
    if (++row > line) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

SourceLocator::SourceLocator(std::string_view content, const std::string& name, bool has_lines)
    : source_(std::make_shared<const std::string>(name)), has_lines_(has_lines) {
  if (has_lines_) {
    lines_ = split(content, '\n');
  }
}

SourceLocation SourceLocator::at(int line, int column) const {
  if (!has_lines_) {
    return {.source = source_};
  }
  const auto row = static_cast<std::size_t>(std::max(line, 0));
  const std::string_view whole = row < lines_.size() ? lines_[row] : std::string_view();
  const std::size_t bytes = std::min(whole.size(), static_cast<std::size_t>(std::max(column, 0)));
  if (counted_.row != row || counted_.bytes > bytes) {
    counted_ = {.row = row};
  }
  counted_.characters += utf8::count(whole.substr(counted_.bytes, bytes - counted_.bytes));
  counted_.bytes = bytes;
  return {.source = source_,
          .line = static_cast<int>(row) + 1,
          .column = static_cast<int>(counted_.characters) + 1};
}

std::string_view SourceLocator::line_of(const YAML::Mark& mark) const {
  const auto row = static_cast<std::size_t>(std::max(mark.line, 0));
  return row < lines_.size() ? lines_[row] : std::string_view();
}

std::string plain_text(std::string_view bytes, const std::string& name, bool has_lines) {
  if (bytes.starts_with("\xEF\xBB\xBF")) {
    bytes.remove_prefix(3);
  }
  std::string content;
  content.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] != '\r') {
      content += bytes[at];
    } else if (at + 1 == bytes.size() || bytes[at + 1] != '\n') {
      content += '\n';
    }
  }
  const auto reject = [&](std::size_t at, std::string_view message) {
    const auto before = split(std::string_view(content).substr(0, at), '\n');
    const SourceLocator locator(content, name, has_lines);
    const SourceLocation location =
        locator.at(static_cast<int>(before.size()) - 1, static_cast<int>(before.back().size()));
    throw Error(str_cat(to_string(location), ": ", message));
  };
  for (std::size_t at = 0; at < content.size(); ++at) {
    const auto byte = static_cast<unsigned char>(content[at]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      reject(at, str_cat("a control character (byte ", int{byte}, "), must be text"));
    }
  }
  if (const auto at = utf8::first_invalid(content)) {
    reject(*at, "bytes that are not UTF-8, must be text in UTF-8");
  }
  return content;
}

void reject_syntax(const YAML::Exception& error,
                   const SourceLocator& locator,
                   std::string_view content,
                   const std::string& key) {
  SourceLocation location = locator.at(error.mark);
  std::string meaning = yaml_explained(error.msg);
  const bool is_at_end =
      static_cast<std::size_t>(std::max(error.mark.pos, 0)) >= trim(content).size();
  if (const auto tab = indenting_tab(content, error.mark.line)) {
    location = locator.at(tab->first, tab->second);
    meaning = "a tab in the indentation, must be spaces";
  } else if (is_at_end && content.find_first_of("{[\"'") != std::string_view::npos) {
    meaning = "the text ends, but a '{', '[' or quote is not closed";
  }
  throw Error(str_cat(to_string(location), ": ", one_line(key), key.empty() ? "" : ": ",
                      "not valid YAML: ", meaning));
}

}  // namespace weft::config
