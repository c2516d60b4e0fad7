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

bool ErrorList::contains(std::string_view path) const {
  return std::any_of(items.begin(), items.end(), [&](const Item& item) {
    return path.empty() || item.path == path || item.path.starts_with(str_cat(path, "."));
  });
}

bool Section::State::has_uncertain_keys() const {
  return is_uncertain || (parent && parent->has_uncertain_keys());
}

void Section::State::throw_if_follow_up(std::string_view key) const {
  if (!errors) {
    return;
  }
  const auto own = path_of(key);
  const bool is_known = std::ranges::any_of(errors->items, [&](const ErrorList::Item& item) {
    const auto dot = item.path.rfind('.');
    const bool is_near =
        dot != std::string::npos && str_cat(own, ".").starts_with(item.path.substr(0, dot + 1));
    return item.path == own || (item.is_of_value && is_near);
  });
  if (is_known || has_uncertain_keys()) {
    throw FollowUpError("follows from another error");
  }
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

void Section::State::reject_misspelling(std::string_view key) {
  if (node == nullptr && parent) {
    const std::size_t dot = path.rfind('.');
    parent->reject_misspelling(dot == std::string::npos ? path : path.substr(dot + 1));
  }
  if (node == nullptr || node->find(key) != nullptr) {
    return;
  }
  for (const auto& entry : node->entries) {
    const std::size_t longer = std::max(entry.key.size(), key.size());
    const std::size_t shorter = std::min(entry.key.size(), key.size());
    // A key that merely contains the other may be a valid one that is requested later.
    const bool is_similar = longer - shorter <= 2 && !was_requested(entry.key) &&
                            !did_you_mean(entry.key, {std::string(key)}).empty();
    if (is_similar || renamed_key(path_of(entry.key)) == key) {
      misspelled_keys.push_back(entry.key);
      fail_at(entry.location, entry.key,
              str_cat("unknown key ", quote(entry.key), ", did you mean ", quote(key), "?"));
    }
  }
}

void Section::State::fail_unknown(const Entry& entry) const {
  std::string near(renamed_key(path_of(entry.key)));
  const auto* foreign = find_foreign_key(entry.key);
  if (near.empty() && foreign == nullptr) {
    near = did_you_mean(entry.key, requested_keys);
  }
  const std::string meant = !near.empty()        ? ", did you mean " + quote(near) + "?"
                            : foreign != nullptr ? suggestion(*foreign)
                                                 : "";
  const std::string allowed = requested_keys.empty() ? "none" : join(requested_keys);
  fail_at(entry.location, one_line(entry.key),
          str_cat("unknown key ", quote(entry.key), meant,
                  meant.empty() ? ", allowed: " : " allowed: ", allowed));
}

void Section::State::fail_missing(std::string_view key) {
  if (has_uncertain_keys()) {
    throw_if_follow_up(key);
  }
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
