#include "metrics/tag_scheme.h"

#include <algorithm>
#include <string_view>

namespace weft::metrics {

namespace {

constexpr std::string_view kPrefixes = "BIEOS";

/// Returns the prefix letter, with BILOU mapped to IOBES; 0 for tags of another form.
char prefix_of(std::string_view label) {
  if (label.empty() || (label.size() > 1 && label[1] != '-')) {
    return 0;
  }
  const char letter = label[0] == 'L' ? 'E' : label[0] == 'U' ? 'S' : label[0];
  const bool is_known = kPrefixes.find(letter) != std::string_view::npos;
  return is_known && (letter != 'O' || label.size() == 1) ? letter : '\0';
}

/// Returns the type after the hyphen; `_` if empty, as in seqeval.
std::string type_of(std::string_view label) {
  return label.size() > 2 ? std::string(label.substr(2)) : "_";
}

}  // namespace

TagScheme::TagScheme(const std::vector<std::string>& labels) {
  bool has_prefix = false;
  for (const auto& label : labels) {
    const char prefix = prefix_of(label);
    has_prefix = has_prefix || (prefix != 0 && prefix != 'O');
    if (prefix == 0) {
      other_tags_.push_back(label);
    }
  }
  marks_entities_ = has_prefix && other_tags_.empty();
  if (!has_prefix) {
    other_tags_.clear();
  }
  if (!marks_entities_) {
    return;
  }
  for (const auto& label : labels) {
    if (label != "O") {
      types_.push_back(type_of(label));
    }
  }
  std::sort(types_.begin(), types_.end());
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  for (const auto& label : labels) {
    Tag tag{.prefix = prefix_of(label)};
    if (tag.prefix != 'O') {
      const auto index = std::lower_bound(types_.begin(), types_.end(), type_of(label));
      tag.type = index - types_.begin();
    }
    tags_.push_back(tag);
  }
}

bool TagScheme::ends(const Tag& before, const Tag& now) {
  if (before.prefix == 'O') {
    return false;
  }
  const bool is_closed = before.prefix == 'E' || before.prefix == 'S';
  const bool is_other = now.prefix == 'B' || now.prefix == 'S' || now.prefix == 'O';
  return is_closed || is_other || before.type != now.type;
}

bool TagScheme::begins(const Tag& before, const Tag& now) {
  if (now.prefix == 'O') {
    return false;
  }
  const bool is_begin = now.prefix == 'B' || now.prefix == 'S';
  const bool was_closed = before.prefix == 'E' || before.prefix == 'S' || before.prefix == 'O';
  return is_begin || was_closed || before.type != now.type;
}

std::vector<Entity> TagScheme::entities(const std::vector<int64_t>& tags) const {
  std::vector<Entity> found;
  if (!marks_entities_) {
    return found;
  }
  Tag before;
  int64_t begin = 0;
  const auto count = static_cast<int64_t>(tags.size());
  for (int64_t word = 0; word <= count; ++word) {
    const int64_t id = word < count ? tags[static_cast<std::size_t>(word)] : -1;
    const Tag now = id < 0 ? Tag{} : tags_.at(static_cast<std::size_t>(id));
    if (ends(before, now)) {
      found.push_back({.type = before.type, .begin = begin, .end = word});
    }
    if (begins(before, now)) {
      begin = word;
    }
    before = now;
  }
  return found;
}

}  // namespace weft::metrics
