#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

/// Source location `file:line:column`, 1-based; overrides have no line.
struct SourceLocation {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;
};

std::string to_string(const SourceLocation& location);

struct Entry;

/// A value of the config file. Maps keep the order of the file.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  SourceLocation location = {};  // shown in errors: a scalar's location, else that of its key
  std::string scalar = {};
  bool is_plain = true;  // unquoted; only plain scalars can be numbers, booleans or none
  std::vector<Node> items = {};
  std::vector<Entry> entries;  // no `= {}`: clang would need the complete type Entry here

  const Entry* find(std::string_view key) const;
  /// The value of a dotted key, `data.train.0.path`; null if there is none.
  const Node* value_at(std::string_view dotted) const;
  Entry* find(std::string_view key);
};

struct Entry {
  std::string key;
  SourceLocation location;
  Node value;
};

/// Describes the value in an error message: `'text'`, `null`, `a list`, `a map`.
std::string describe_value(const Node& node);

/// Shortens the text and replaces control characters, so that a message stays on one line.
std::string one_line(std::string_view text);
/// The same, quoted.
std::string quote(std::string_view text);

}  // namespace weft::config
