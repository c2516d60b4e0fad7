#include "config/state.h"

#include <algorithm>

#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::config {

Record::Item& Record::at(std::string_view key) {
  const auto known =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.key == key; });
  if (known != items.end()) {
    return *known;
  }
  items.push_back({.key = std::string(key)});
  return items.back();
}

std::string Section::State::path_of(std::string_view key) const {
  if (path.empty() || key.empty()) {
    return path.empty() ? std::string(key) : path;
  }
  return str_cat(path, ".", key);
}

std::string Section::State::only_if(const KeySpec& spec) const {
  return spec.only_if.empty() ? condition : std::string(spec.only_if);
}

bool Section::State::was_requested(std::string_view key) const {
  return std::find(requested_keys.begin(), requested_keys.end(), key) != requested_keys.end();
}

const Node* Section::State::lookup(std::string_view key) {
  if (!was_requested(key)) {
    requested_keys.emplace_back(key);
  }
  const Entry* entry = node == nullptr ? nullptr : node->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void Section::State::reject_misspelling(std::string_view key) const {
  if (node == nullptr && parent) {
    const std::size_t dot = path.rfind('.');
    parent->reject_misspelling(dot == std::string::npos ? path : path.substr(dot + 1));
  }
  if (node == nullptr || node->find(key) != nullptr) {
    return;
  }
  for (const auto& entry : node->entries) {
    if (renamed_key(path_of(entry.key)) == key) {
      fail_at(entry.location, entry.key,
              str_cat("unknown key ", quote(entry.key), ", did you mean ", quote(key), "?"));
    }
    const std::size_t longer = std::max(entry.key.size(), key.size());
    const std::size_t shorter = std::min(entry.key.size(), key.size());
    // A key that merely contains the other may be a valid one that is requested later.
    if (longer - shorter <= 2 && !was_requested(entry.key) &&
        !did_you_mean(entry.key, {std::string(key)}).empty()) {
      fail_at(entry.location, entry.key,
              str_cat("unknown key ", quote(entry.key), ", did you mean ", quote(key), "?"));
    }
  }
}

void Section::State::fail_missing(std::string_view key) const {
  reject_misspelling(key);
  fail_at(location, key, "missing, but required");
}

void Section::State::fail_at(const SourceLocation& where,
                             std::string_view key,
                             std::string_view message) const {
  const std::string dotted = path_of(key);
  // The message may quote file contents, such as a path with a line feed.
  std::string clean = utf8::replace_invalid(message);
  std::replace_if(
      clean.begin(), clean.end(),
      [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; }, ' ');
  throw Error(str_cat(to_string(where), ": ", one_line(dotted), dotted.empty() ? "" : ": ", clean));
}

void Section::State::fail_at(const Node& node_of_key,
                             std::string_view key,
                             std::string_view message) const {
  fail_at(node_of_key.location, key, message);
}

void Section::State::fail_type(const Node& value,
                               std::string_view key,
                               std::string_view kind) const {
  fail_at(value, key, str_cat(describe_value(value), ", must be ", kind));
}

}  // namespace weft::config
