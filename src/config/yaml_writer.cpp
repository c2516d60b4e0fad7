
#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/string_util.h"
#include "config/scalar.h"
#include "config/state.h"
#include "config/yaml.h"

namespace weft::config {

namespace {

/// Whether every YAML reader parses the unquoted word as this text.
bool is_safe_word(std::string_view word) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
  constexpr std::string_view kOthers = "0123456789.-+@=";
  static const std::array<std::string_view, 11> kTaken = {
      "null", "true", "false", "yes", "no", "on", "off", "none", "never", "y", "n"};
  if (word.empty() || kLetters.find(word[0]) == std::string_view::npos) {
    return false;
  }
  std::string lower;
  for (const char character : word) {
    if (kLetters.find(character) == std::string_view::npos &&
        kOthers.find(character) == std::string_view::npos) {
      return false;
    }
    lower += static_cast<char>(character >= 'A' && character <= 'Z' ? character + ('a' - 'A')
                                                                    : character);
  }
  return std::find(kTaken.begin(), kTaken.end(), lower) == kTaken.end();
}

void write(const Record& record, std::size_t indent, std::string& out);

void write_item(const Record::Item& item, std::size_t indent, std::string& out) {
  const std::string key = yaml_text(item.key);
  if (item.section) {
    out += key + (item.section->items.empty() ? ": {}\n" : ":\n");
    write(*item.section, indent + 2, out);
  } else if (item.is_list) {
    out += key + (item.list.empty() ? ": []\n" : ":\n");
    for (const auto& member : item.list) {
      std::string lines;
      write(*member, indent + 4, lines);
      // The first key goes on the line of the dash.
      lines = lines.empty() ? std::string("{}\n") : lines.substr(indent + 4);
      out += std::string(indent + 2, ' ') + "- " + lines;
    }
  } else {
    out += str_cat(key, ": ", item.value, "\n");
  }
}

void write(const Record& record, std::size_t indent, std::string& out) {
  for (const auto& item : record.items) {
    out += std::string(indent, ' ');
    write_item(item, indent, out);
  }
}

using Json = nlohmann::ordered_json;

Json node_to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return nullptr;
    case Node::Kind::kScalar:
      break;
    case Node::Kind::kList: {
      Json list = Json::array();
      for (const auto& item : node.items) {
        list.push_back(node_to_json(item));
      }
      return list;
    }
    case Node::Kind::kMap: {
      Json map = Json::object();
      for (const auto& entry : node.entries) {
        map[entry.key] = node_to_json(entry.value);
      }
      return map;
    }
  }
  if (is_none(node)) {
    return nullptr;
  }
  if (const auto boolean = parse_boolean(node)) {
    return *boolean;
  }
  if (const auto integer = parse_integer(node); integer.error == NumberError::kNone) {
    return integer.value;
  }
  if (const auto number = parse_number(node); number.error == NumberError::kNone) {
    return number.value;
  }
  return node.scalar;
}

Json record_to_json(const Record& record) {
  Json map = Json::object();
  for (const auto& item : record.items) {
    if (item.section) {
      map[item.key] = record_to_json(*item.section);
    } else if (item.is_list) {
      map[item.key] = Json::array();
      for (const auto& member : item.list) {
        map[item.key].push_back(record_to_json(*member));
      }
    } else {
      map[item.key] = node_to_json(parse_yaml(item.value, item.key));
    }
  }
  return map;
}

}  // namespace

std::string yaml_text(std::string_view word) {
  if (is_safe_word(word)) {
    return std::string(word);
  }
  std::string result = "\"";
  for (const char character : word) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (character == '\n' || character == '\t') {
      result += character == '\n' ? "\\n" : "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 5> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", byte);
      result += escaped.data();
    } else {
      result += character;
    }
  }
  return result + "\"";
}

std::string yaml_number(double value) {
  std::string digits = shortest_repr(value);
  // `1e-05` without a point is a string to YAML 1.1 readers such as PyYAML.
  const std::size_t exponent = digits.find('e');
  if (exponent != std::string::npos && digits.find('.') == std::string::npos) {
    digits.insert(exponent, ".0");
  }
  return digits;
}

std::string yaml_list(const std::vector<std::string>& scalars) { return "[" + join(scalars) + "]"; }

std::string to_json(const Record& record) { return record_to_json(record).dump(); }

std::string to_yaml(const Record& record) {
  std::string out;
  write(record, 0, out);
  return out.empty() ? "{}\n" : out;
}

}  // namespace weft::config
