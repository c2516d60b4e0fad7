#include "config/state.h"

#include <algorithm>

#include "base/text.h"
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
  return text(path, ".", key);
}

bool Section::State::was_asked(std::string_view key) const {
  return std::find(asked.begin(), asked.end(), key) != asked.end();
}

const Node* Section::State::ask(std::string_view key) {
  if (!was_asked(key)) {
    asked.emplace_back(key);
  }
  const Entry* entry = node == nullptr ? nullptr : node->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void Section::State::refuse_slip(std::string_view key) const {
  if (node == nullptr && parent) {
    const std::size_t dot = path.rfind('.');
    parent->refuse_slip(dot == std::string::npos ? path : path.substr(dot + 1));
  }
  if (node == nullptr || node->find(key) != nullptr) {
    return;
  }
  for (const auto& entry : node->entries) {
    const std::size_t longer = std::max(entry.key.size(), key.size());
    const std::size_t shorter = std::min(entry.key.size(), key.size());
    // A key that merely holds the other as a part may be a right one that is asked for later.
    if (longer - shorter <= 2 && !was_asked(entry.key) &&
        !nearest(entry.key, {std::string(key)}).empty()) {
      fail_at(entry.place, entry.key,
              text("unknown key ", quote(entry.key), ", did you mean ", quote(key), "?"));
    }
  }
}

void Section::State::demand(std::string_view key) const {
  refuse_slip(key);
  fail_at(place, key, "missing, must be given");
}

void Section::State::fail_at(const Place& where,
                             std::string_view key,
                             std::string_view message) const {
  const std::string dotted = path_of(key);
  // The message may repeat what a file holds, a path with a line feed in it.
  std::string clean = utf8::repaired(message);
  std::replace_if(
      clean.begin(), clean.end(),
      [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F; }, ' ');
  throw Error(text(to_string(where), ": ", one_line(dotted), dotted.empty() ? "" : ": ", clean));
}

void Section::State::fail_at(const Node& node_of_key,
                             std::string_view key,
                             std::string_view message) const {
  fail_at(node_of_key.place, key, message);
}

void Section::State::fail_kind(const Node& value,
                               std::string_view key,
                               std::string_view kind) const {
  fail_at(value, key, text(found(value), ", must be ", kind));
}

}  // namespace weft::config
