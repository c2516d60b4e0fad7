#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace weft::config {

enum class KeyType {
  kBoolean,
  kInteger,
  kNumber,
  kText,
  kDuration,
  kRelativeDuration,  // or a fraction of the run
  kIntegerList,
  kNumberList,
  kTextList,
  kChoice,        // one of `choices`
  kNamedNumbers,  // one of `choices`, or a map of numbers
  kGrid,          // a map of dotted keys, each with a list of values
  kSection,
  kNamedSections,  // by any name
  kSectionList,
};

/// Everything declared about one key.
struct Declaration {
  std::string path;  // `model.attention.heads`; keys of the maps in a list: `data.train.*.path`
  KeyType type = KeyType::kText;
  bool is_nullable = false;  // also accepts `null` and `none`
  bool is_required = false;
  std::string default_value = {};  // YAML; empty for sections
  /// Other defaults, with the types that have them: `gpt2, bart: 1024; t5: 64`.
  std::string other_defaults = {};
  std::string help = {};
  std::string unit = {};
  std::string only_if = {};
  bool may_be_list = false;    // a section or a list of them
  bool is_of_variant = false;  // declared in a section of Section::only_with
  Range range = {};
  std::vector<std::string> choices = {};

  bool is_section() const {
    return type == KeyType::kSection || type == KeyType::kNamedSections ||
           type == KeyType::kSectionList;
  }
};

/// Declarations of a config, in reading order; a section comes before its keys.
struct Declarations {
  std::vector<Declaration> keys;

  const Declaration* find(std::string_view path) const;
  /// Adds a declaration; a repeated path only adds its `only_if` condition, and that of a variant
  /// also its default, to the help, if it is another one.
  void add(Declaration declaration);
};

/// Collects the declarations of all keys that `read_all` reads.
Declarations collect_declarations(const std::function<void(Section)>& read_all);

/// Declarations of the keys of one `type`.
struct TypeDeclarations {
  std::string_view type;
  Declarations declarations;
};

/// The keys of all types; each names the types that have it, unless all have, the most frequent
/// default and the exceptions.
Declarations merge_types(const std::vector<TypeDeclarations>& types);

/// `768`, or `768 (gpt2: 1024)`; `required` for a required key, empty for a section.
std::string default_of(const Declaration& declaration);

/// The `only_if` of a key as `with type: mlm` or `without init_from`.
std::string condition_of(const Declaration& declaration);

/// Output of `weft config explain KEY`: the key with its details, a section with its keys. A suffix
/// of the dotted key is enough; all matching keys are shown. A key of another trainer shows the one
/// to use here. Throws Error for an unknown key.
std::string explain(const Declarations& declarations, std::string_view key);
/// Output without a KEY: a table of all keys.
std::string explain_all(const Declarations& declarations);

/// Generates docs/config.md.
std::string reference_page(const Declarations& declarations);

/// Generates the JSON Schema (draft 2020-12), for editors.
std::string json_schema(const Declarations& declarations);

/// A key of another trainer (transformers, fairseq, Marian, spaCy), and the one to use here.
struct ForeignKey {
  std::string_view name;
  std::string_view path;
  std::string_view how = {};  // how the value differs, if it does
};

/// A word of another trainer for a choice, and the one to use here.
struct ForeignValue {
  std::string_view path;  // of the key with the choice
  std::string_view word;
  std::string_view choice;
};

std::span<const ForeignKey> foreign_keys();
std::span<const ForeignValue> foreign_values();

/// Null or empty if the word is unknown. Capitals, and `-` for `_`, do not matter.
const ForeignKey* find_foreign_key(std::string_view name);
std::string_view find_foreign_value(std::string_view path, std::string_view word);
/// `, did you mean 'train.duration' (a number with a unit)?`
std::string suggestion(const ForeignKey& key);

/// Type in words: `integer >= 1 (layers)`, `one of relu, gelu, silu`, `number in [0, 1) or none`.
std::string type_of(const Declaration& declaration);

}  // namespace weft::config
