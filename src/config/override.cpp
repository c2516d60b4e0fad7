
#include <charconv>
#include <optional>
#include <utility>

#include "base/string_util.h"
#include "config/section.h"
#include "config/yaml.h"

namespace weft::config {

namespace {

/// Walks down the tree along the path of one override.
class PathWalk {
 public:
  explicit PathWalk(SourceLocation location) : location_(std::move(location)) {}

  /// Returns the child `word` of `node`, created if missing.
  Node& step(Node& node, std::string_view word, bool is_last) {
    // The first map of a list that is not there yet: data.evaluate.0.path. A last `0` may be the
    // name of a class.
    if (node.kind == Node::Kind::kNull && word == "0" && !is_last) {
      node = {.kind = Node::Kind::kList, .location = location_, .entries = {}};
    }
    Node& below = node.kind == Node::Kind::kList ? item(node, word) : value(node, word);
    path_ += path_.empty() ? "" : ".";
    path_ += word;
    return below;
  }

  [[noreturn]] void fail(std::string_view message) const {
    const std::string at = path_.empty() ? "" : path_ + ": ";
    throw Error(str_cat(to_string(location_), ": ", one_line(at), message));
  }

 private:
  Node& item(Node& list, std::string_view word) {
    std::size_t index = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), index);
    const bool is_number = result.ec == std::errc() && result.ptr == word.data() + word.size();
    if (!is_number || index > list.items.size()) {
      fail(str_cat("a list of ", list.items.size(), ", ", quote(word),
                   " is not the index of an item (from 0) nor the next free index"));
    }
    if (index == list.items.size()) {
      list.items.push_back({.location = location_, .entries = {}});
    }
    return list.items[index];
  }

  Node& value(Node& map, std::string_view word) {
    if (map.kind == Node::Kind::kNull) {
      map = {.kind = Node::Kind::kMap, .location = location_, .entries = {}};
    }
    if (map.kind != Node::Kind::kMap) {
      fail(str_cat(describe_value(map), " is not a map, ", quote(word), " cannot be set below it"));
    }
    if (Entry* known = map.find(word)) {
      return known->value;
    }
    map.entries.push_back({.key = std::string(word),
                           .location = location_,
                           .value = {.location = location_, .entries = {}}});
    return map.entries.back().value;
  }

  SourceLocation location_;
  std::string path_;
};

}  // namespace

void apply_override(Node& root, const std::string& assignment) {
  const SourceLocation location{
      .source = std::make_shared<const std::string>("--set " + one_line(assignment))};
  const std::size_t equals = assignment.find('=');
  const std::string key(trim(std::string_view(assignment).substr(0, equals)));
  PathWalk walk(location);
  if (equals == std::string::npos || key.empty()) {
    walk.fail("must be key=value, as in train.optimizer.lr=1e-4");
  }
  const auto words = split(key, '.');
  if (words.size() > kMaxDepth) {
    walk.fail(str_cat("more than ", kMaxDepth, " nested keys"));
  }
  Node* node = &root;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].empty()) {
      walk.fail("an empty key between dots, must be key=value, as in train.optimizer.lr=1e-4");
    }
    node = &walk.step(*node, words[i], i + 1 == words.size());
  }
  *node =
      parse_override_value(std::string_view(assignment).substr(equals + 1), *location.source, key);
  node->location = location;
}

}  // namespace weft::config
