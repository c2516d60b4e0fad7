#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/reference.h"
#include "config/section.h"

namespace weft::config {

/// Final values of a section in reading order, for the resolved config.
struct Record {
  struct Item {
    std::string key;
    std::string value = {};  // YAML on one line; empty for a section or a list of sections
    std::shared_ptr<Record> section = {};
    std::vector<std::shared_ptr<Record>> list = {};
    bool is_list = false;
  };
  std::vector<Item> items;

  Item& at(std::string_view key);
};

/// Writes block-style YAML, indented by two spaces per level.
std::string to_yaml(const Record& record);
/// The same values as a JSON object.
std::string to_json(const Record& record);

struct Section::State {
  std::shared_ptr<const Node> root;            // keeps `node` alive
  std::shared_ptr<Declarations> declarations;  // documentation mode only
  std::shared_ptr<State> parent;
  const Node* node = nullptr;  // null: the file does not contain this section
  SourceLocation location;     // of the section, or of its nearest ancestor in the file
  std::string path;
  std::string condition = {};  // of Section::only_with
  std::vector<std::string> requested_keys;
  std::shared_ptr<Record> record = std::make_shared<Record>();

  std::string path_of(std::string_view key) const;
  /// The key's condition, else that of the section.
  std::string only_if(const KeySpec& spec) const;
  /// Returns the key's value, or null. Records that the key was requested.
  const Node* lookup(std::string_view key);
  /// Throws Error for a missing required key.
  void fail_missing(std::string_view key) const;
  /// Throws Error if the file has a key, not requested so far, that looks like a misspelling of
  /// `key`.
  void reject_misspelling(std::string_view key) const;
  bool was_requested(std::string_view key) const;

  [[noreturn]] void fail_at(const SourceLocation& where,
                            std::string_view key,
                            std::string_view message) const;
  [[noreturn]] void fail_at(const Node& node_of_key,
                            std::string_view key,
                            std::string_view message) const;
  /// Throws Error for a value of the wrong kind: `'x', must be a map`.
  [[noreturn]] void fail_type(const Node& value, std::string_view key, std::string_view kind) const;
};

/// Returns the current name of a renamed key, for "did you mean"; empty if the key never existed.
/// `path` is dotted; list items may have an index or not.
std::string_view renamed_key(std::string_view path);

}  // namespace weft::config
