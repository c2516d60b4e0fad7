#include "config/yaml.h"

#include <map>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/string_util.h"
#include "config/section.h"
#include "config/yaml_source.h"

namespace weft::config {

namespace {

/// Builds the tree from parser events and rejects YAML features that are not allowed.
class Builder : public YAML::EventHandler {
 public:
  Builder(const SourceLocator& locator, std::string root)
      : locator_(locator), root_(std::move(root)) {}

  Node take() { return std::move(top_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      const bool is_marked = locator_.line_of(mark).substr(0, 3) == "---";
      fail(locator_.at(mark),
           is_marked ? "a second document begins here, only one is allowed per file"
                     : "text after the end of the document, only one map is allowed per file");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({.location = locator_.at(mark), .entries = {}}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      fail(locator_.at(mark), "an alias inside of its own anchor, must refer to a completed value");
    }
    if (expects_key()) {
      fail(locator_.at(mark), "an alias as a key, a key must be text");
    }
    Node copy = known->second;
    count(copy);
    copy.location = locator_.at(mark);
    add(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    reject_tag(mark, tag, true);
    const bool is_plain = tag != "!";
    if (!expects_key()) {
      add({.kind = Node::Kind::kScalar,
           .location = locator_.at(mark),
           .scalar = value,
           .is_plain = is_plain,
           .entries = {}},
          anchor);
      return;
    }
    open_.back().key = value;
    open_.back().key_location = locator_.at(mark);
    open_.back().has_key = true;
    reject_key(value, is_plain);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(Node::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

  [[noreturn]] void fail(const SourceLocation& location, std::string_view message) const {
    const std::string path = dotted();
    throw Error(
        str_cat(to_string(location), ": ", one_line(path), path.empty() ? "" : ": ", message));
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::string key;
    SourceLocation key_location;
    bool has_key = false;
  };

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == Node::Kind::kMap && !open_.back().has_key;
  }

  std::string dotted() const {
    std::string path = root_;
    for (const auto& open : open_) {
      const bool is_list = open.node.kind == Node::Kind::kList;
      if (is_list || open.has_key) {
        path += path.empty() ? "" : ".";
        path += is_list ? std::to_string(open.node.items.size()) : open.key;
      }
    }
    return path.size() > 200 ? path.substr(0, 200) + "..." : path;
  }

  void reject_key(const std::string& key, bool is_plain) {
    if (key == "<<" && is_plain) {
      fail(open_.back().key_location, "merge keys ('<<') are not allowed, write the keys out");
    }
    if (const Entry* earlier = open_.back().node.find(key)) {
      const std::string line = earlier->location.line > 0
                                   ? str_cat(", first in line ", earlier->location.line)
                                   : std::string();
      fail(open_.back().key_location, str_cat(quote(key), " is duplicated", line));
    }
  }

  void reject_tag(const YAML::Mark& mark, const std::string& tag, bool is_scalar) const {
    if (tag.empty() || tag == "?" || (tag == "!" && is_scalar)) {
      return;
    }
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    const bool is_standard = tag.starts_with(kStandard);
    const auto shown = is_standard ? "!!" + tag.substr(kStandard.size()) : tag;
    fail(locator_.at(mark), str_cat("type tags are not allowed, found ", quote(shown)));
  }

  void begin(Node::Kind kind,
             const YAML::Mark& mark,
             const std::string& tag,
             YAML::anchor_t anchor) {
    reject_tag(mark, tag, false);
    if (expects_key()) {
      fail(locator_.at(mark),
           "a list or map as a key, a key must be text (or a bracket is not closed)");
    }
    if (open_.size() >= kMaxDepth) {
      fail(locator_.at(mark),
           str_cat("lists and maps are nested deeper than ", kMaxDepth, " levels"));
    }
    open_.push_back({.node = {.kind = kind, .location = locator_.at(mark), .entries = {}},
                     .anchor = anchor,
                     .key = {},
                     .key_location = {}});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }

  void count(const Node& node) {
    if (++nodes_ > kMaxNodes) {
      fail(node.location,
           str_cat("more than ", kMaxNodes, " values (counting those repeated by aliases)"));
    }
    for (const auto& item : node.items) {
      count(item);
    }
    for (const auto& entry : node.entries) {
      count(entry.value);
    }
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (expects_key()) {
      fail(node.location, describe_value(node) + " as a key, a key must be text");
    }
    if (++nodes_ > kMaxNodes) {
      fail(node.location, str_cat("more than ", kMaxNodes, " values"));
    }
    if (!open_.empty() && open_.back().has_key && node.kind != Node::Kind::kScalar) {
      node.location = open_.back().key_location;
    }
    if (anchor != 0) {
      count(node);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      top_ = std::move(node);
    } else if (open_.back().node.kind == Node::Kind::kList) {
      open_.back().node.items.push_back(std::move(node));
    } else {
      auto& map = open_.back();
      map.node.entries.push_back(
          {.key = std::move(map.key), .location = map.key_location, .value = std::move(node)});
      map.has_key = false;
    }
  }

  const SourceLocator& locator_;
  std::string root_;
  Node top_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  int documents_ = 0;
  int nodes_ = 0;
};

Node parse(std::string_view bytes,
           const std::string& name,
           const std::string& key,
           bool has_lines) {
  const std::string content = plain_text(bytes, name, has_lines);
  const SourceLocator locator(content, name, has_lines);
  Builder builder(locator, key);
  std::istringstream stream(content);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    reject_syntax(error, locator, content, key);
  }
  return builder.take();
}

}  // namespace

Node parse_yaml(std::string_view text, const std::string& name) {
  return parse(text, name, "", true);
}

Node parse_override_value(std::string_view text, const std::string& name, const std::string& key) {
  return parse(text, name, key, false);
}

}  // namespace weft::config
