#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/section.h"

namespace weft::test {

/// The section at `path` (`model.feed_forward`) of a file `test.yaml` that contains only it, on
/// line 1. Values are YAML.
inline config::Section section(std::string_view path,
                               const std::vector<std::pair<std::string, std::string>>& keys = {}) {
  const auto words = split(path, '.');
  std::string yaml;
  for (const auto word : words) {
    yaml += str_cat(yaml.empty() ? "" : "{", word, ": ");
  }
  std::vector<std::string> pairs;
  pairs.reserve(keys.size());
  for (const auto& [key, value] : keys) {
    pairs.push_back(str_cat(key, ": ", value));
  }
  const std::string closing(words.size(), '}');
  const auto document = config::Document::parse(yaml + "{" + join(pairs) + closing, "test.yaml");
  auto section = document.root();
  for (const auto word : words) {
    section = section.section(word, {.help = "A section of the test."});
  }
  return section;
}

/// The message of the Error that `action` throws; a text that no message equals when it throws
/// none.
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace weft::test
