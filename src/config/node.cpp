#include "config/node.h"

#include <algorithm>
#include <charconv>

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

const Node* Node::value_at(std::string_view dotted) const {
  const Node* node = this;
  for (const auto word : split(dotted, '.')) {
    std::size_t index = 0;
    if (node->kind == Kind::kList) {
      const auto parsed = std::from_chars(word.data(), word.data() + word.size(), index);
      const bool is_there = parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() &&
                            index < node->items.size();
      node = is_there ? &node->items[index] : nullptr;
    } else {
      const Entry* entry = node->find(word);
      node = entry == nullptr ? nullptr : &entry->value;
    }
    if (node == nullptr) {
      return nullptr;
    }
  }
  return node;
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
