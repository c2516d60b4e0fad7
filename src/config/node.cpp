#include "config/node.h"

#include <algorithm>

#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::config {

std::string to_string(const SourceLocation& location) {
  const std::string source = location.source ? *location.source : std::string("config");
  if (location.line == 0) {
    return source;
  }
  return location.column == 0 ? str_cat(source, ":", location.line)
                              : str_cat(source, ":", location.line, ":", location.column);
}

const Entry* Node::find(std::string_view key) const {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.key == key; });
  return at == entries.end() ? nullptr : &*at;
}

Entry* Node::find(std::string_view key) {
  return const_cast<Entry*>(static_cast<const Node&>(*this).find(key));
}

std::string one_line(std::string_view text) {
  constexpr int kMaxLength = 100;  // code points
  std::string result;
  int shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == kMaxLength) {
      result += "...";
      break;
    }
    const char32_t code = utf8::next(text, at);
    utf8::append(result, code < 0x20 || code == 0x7F ? U' ' : code);
  }
  return result;
}

std::string quote(std::string_view text) { return "'" + one_line(text) + "'"; }

std::string describe_value(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kScalar:
      return quote(node.scalar);
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return {};
}

}  // namespace weft::config
