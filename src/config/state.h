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

/// Errors of a document that is read by Document::read.
struct ErrorList {
  struct Item {
    std::string path;  // of the key or section that is wrong
    std::string message;
    bool is_of_value = false;  // of what the file says, not of how it goes with other keys
  };
  std::vector<Item> items;

  bool contains(std::string_view path) const;  // also below
};

/// Thrown in place of an error that may only follow from one in the ErrorList.
class FollowUpError : public Error {
 public:
  using Error::Error;
};

struct Section::State {
  std::shared_ptr<const Node> root;            // keeps `node` alive
  std::shared_ptr<Declarations> declarations;  // documentation mode only
  std::shared_ptr<State> parent;
  const Node* node = nullptr;  // null: the file does not contain this section
  SourceLocation location;     // of the section, or of its nearest ancestor in the file
  std::string path;
  std::string condition = {};         // of Section::only_with
  std::shared_ptr<ErrorList> errors;  // null: the first error is thrown
  // The keys that this section may have are unknown: its type, or the section itself, is wrong.
  bool is_uncertain = false;
  std::vector<std::string> requested_keys;
  std::vector<std::string> misspelled_keys = {};  // already reported
  std::shared_ptr<Record> record = std::make_shared<Record>();

  std::string path_of(std::string_view key) const;
  /// The key's condition, else that of the section.
  std::string only_if(const KeySpec& spec) const;
  /// Returns the key's value, or null. Records that the key was requested.
  const Node* lookup(std::string_view key);
  /// Throws Error for a missing required key.
  void fail_missing(std::string_view key);
  /// Throws Error if the file has a key, not requested so far, that looks like a misspelling of
  /// `key`.
  void reject_misspelling(std::string_view key);
  bool was_requested(std::string_view key) const;
  /// Whether this section or one around it is_uncertain.
  bool has_uncertain_keys() const;

  [[noreturn]] void fail_at(const SourceLocation& where,
                            std::string_view key,
                            std::string_view message) const;
  /// Throws Error for a key that was not requested, with the most similar known one.
  [[noreturn]] void fail_unknown(const Entry& entry) const;
  [[noreturn]] void fail_at(const Node& node_of_key,
                            std::string_view key,
                            std::string_view message) const;
  /// Throws Error for a value of the wrong kind: `'x', must be a map`.
  [[noreturn]] void fail_type(const Node& value, std::string_view key, std::string_view kind) const;

  /// Calls `part`, which reads the key; adds its error to `errors`, if there is such a list.
  /// Returns whether there was no error.
  template <class Part>
  bool attempt(std::string_view key, const Part& part, bool is_of_value = true) const {
    if (!errors) {
      part();
      return true;
    }
    try {
      part();
      return true;
    } catch (const FollowUpError&) {
    } catch (const UserError& error) {
      errors->items.push_back({path_of(key), error.what(), is_of_value});
    }
    return false;
  }
  /// Throws FollowUpError if another error may be the cause of one of this key.
  void throw_if_follow_up(std::string_view key) const;
};

/// Returns the current name of a renamed key, for "did you mean"; empty if the key never existed.
/// `path` is dotted, list items with an index.
std::string_view renamed_key(std::string_view path);

}  // namespace weft::config
