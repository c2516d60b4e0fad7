#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace weft::test {

/// What a command printed: one JSON value a line.
template <class Json>
std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

}  // namespace weft::test
