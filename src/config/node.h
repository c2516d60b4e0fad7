#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

/// Where something stands: `file:line:column`, counted from 1; an override has no line.
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;
};

std::string to_string(const Place& place);

struct Entry;

/// A value of the file. Maps keep the order of the file.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Place place = {};  // what errors name: a scalar's own place, else that of its key
  std::string scalar = {};
  bool is_plain = true;  // without quotes; only such scalars can be numbers, booleans or none
  std::vector<Node> items = {};
  std::vector<Entry> entries;  // no `= {}`: clang would want Entry whole here

  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;
  Place place;
  Node value;
};

/// What a message says was found: `'text'`, `null`, `a list`, `a map`.
std::string found(const Node& node);

/// The text, shortened and without control characters, so that a message stays one line.
std::string one_line(std::string_view text);
/// The same in quotes.
std::string quote(std::string_view text);

}  // namespace weft::config
