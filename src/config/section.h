#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/duration.h"

namespace weft::config {

/// `FILE:LINE:COLUMN: dotted.key: actual value, what is allowed`; a line for each error of a
/// document.
class Error : public UserError {
 public:
  using UserError::UserError;
};

/// Allowed range of a number. Non-finite numbers are never allowed.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool is_min_exclusive = false;
  bool is_max_exclusive = false;

  bool operator==(const Range&) const = default;
};
constexpr Range at_least(double min) { return {.min = min}; }
constexpr Range above(double min) { return {.min = min, .is_min_exclusive = true}; }
constexpr Range between(double min, double max) { return {.min = min, .max = max}; }
constexpr Range half_open(double min, double max) {
  return {.min = min, .max = max, .is_max_exclusive = true};
}

/// Declaration of a key, made once, where it is read. Type and default come from the variable it is
/// read into.
struct KeySpec {
  std::string_view help;       // one sentence
  std::string_view unit = "";  // "tokens", "layers", ...; empty: none
  Range range = {};            // numbers only
  bool is_required = false;
  std::string_view only_if = "";  // condition for the key to exist: "type: polynomial"
  bool may_be_list = false;       // of a section: `sections` reads the key as well
  bool suggests_nearest = false;  // of a choice: the error does so even if the list is short
};

/// A word or named numbers: `balanced`, `{ham: 1, spam: 6.5}`. Both empty: none.
struct NamedNumbers {
  std::string word = {};
  std::vector<std::pair<std::string, double>> numbers = {};

  bool operator==(const NamedNumbers&) const = default;
};

/// A dotted key and its values in a grid search, each as one-line YAML.
struct GridAxis {
  std::string key = {};
  std::vector<std::string> values = {};

  bool operator==(const GridAxis&) const = default;
};

/// Names and values of an enum: the words allowed in a config, in display order.
template <class Enum>
using Choices = std::vector<std::pair<std::string_view, Enum>>;

struct Node;          // a value of the file with its location, config/node.h
struct Declarations;  // the declarations collected so far, config/reference.h

/// One mapping of a config file, possibly absent. The same `read_*` functions serve three purposes:
/// they read and validate a file, record the final value of each key for the resolved config, and
/// in documentation mode, without a file, collect the declarations for `config explain`, the
/// reference page and the JSON schema.
///
/// Every reader leaves `value` unchanged if the key is absent, so its value before the call is the
/// default. All throw Error for a wrong type, range or word, except within Document::read, which
/// collects the errors. Only the optional readers accept null.
class Section {
 public:
  /// Returns a section without a file that collects declarations.
  static Section for_documentation();

  void read(std::string_view key, bool& value, const KeySpec& spec);
  void read(std::string_view key, int64_t& value, const KeySpec& spec);
  void read(std::string_view key, double& value, const KeySpec& spec);
  void read(std::string_view key, std::string& value, const KeySpec& spec);
  void read(std::string_view key, Duration& value, const KeySpec& spec);
  void read(std::string_view key, RelativeDuration& value, const KeySpec& spec);
  void read(std::string_view key, std::vector<int64_t>& value, const KeySpec& spec);
  void read(std::string_view key, std::vector<double>& value, const KeySpec& spec);
  void read(std::string_view key, std::vector<std::string>& value, const KeySpec& spec);
  /// Read `null` or `none` (Duration: also `never`) as nullopt.
  void read(std::string_view key, std::optional<int64_t>& value, const KeySpec& spec);
  void read(std::string_view key, std::optional<double>& value, const KeySpec& spec);
  void read(std::string_view key, std::optional<std::string>& value, const KeySpec& spec);
  void read(std::string_view key, std::optional<Duration>& value, const KeySpec& spec);

  /// Accepts `none`, one of the words, or a map of numbers; the range applies to the numbers.
  void read(std::string_view key,
            NamedNumbers& value,
            const std::vector<std::string>& words,
            const KeySpec& spec);

  /// Accepts `none`, or a map of dotted keys, each with a list of values. An empty grid is left out
  /// of the resolved config. The caller must check that the keys exist.
  void read_grid(std::string_view key, std::vector<GridAxis>& value, const KeySpec& spec);

  template <class Enum>
  void read_choice(std::string_view key,
                   Enum& value,
                   const Choices<Enum>& choices,
                   const KeySpec& spec) {
    std::vector<std::string> words;
    std::size_t chosen = 0;
    for (const auto& [word, meaning] : choices) {
      if (meaning == value) {
        chosen = words.size();
      }
      words.emplace_back(word);
    }
    value = choices[read_choice_index(key, words, chosen, spec)].second;
  }

  /// The same for one of these names.
  void read_name(std::string_view key,
                 std::string& value,
                 const std::vector<std::string>& names,
                 const KeySpec& spec);

  /// Returns a nested mapping; an absent one gives a section without keys. Call reject_unread() on
  /// it too.
  Section section(std::string_view key, const KeySpec& spec);
  /// Returns the mappings of a list. In documentation mode: one that represents every item.
  std::vector<Section> sections(std::string_view key, const KeySpec& spec);

  /// Returns the mappings of a mapping with arbitrary keys, in the order of the file. In
  /// documentation mode: none.
  std::vector<std::pair<std::string, Section>> named_sections(std::string_view key,
                                                              const KeySpec& spec);

  /// Number of keys whose final values are recorded so far, and those after the first `first` of
  /// them as a JSON object.
  std::size_t recorded() const;
  /// Leaves a key, dotted if it is below a section of this one, out of the resolved config.
  void omit(std::string_view key);
  std::string json_since(std::size_t first) const;
  /// The same section, whose keys are declared to exist only with this condition (`type: sgd`), as
  /// if every KeySpec had it as `only_if`.
  Section only_with(std::string_view condition) const;

  /// Whether the file gives the key a value other than null; also of a section below:
  /// `optimizer.lr`.
  bool has(std::string_view key) const;
  bool is_list(std::string_view key) const;
  bool is_documenting() const;
  /// In documentation mode, declares keys that were collected elsewhere, with paths relative to
  /// this section.
  void declare(const Declarations& keys);
  /// `model.attention`; empty for the root.
  std::string path() const;

  /// Throws Error at the location of the key (or of this section if the key is absent): `path.key:
  /// message`.
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;
  /// The same, but within Document::read it adds the error to the others and returns, for callers
  /// that can go on.
  void report(std::string_view key, std::string_view message) const;
  /// For a key without effect in this config: reports it if the file gives it a value, otherwise
  /// leaves it out of the resolved config, which must be accepted again.
  void reject_unused(std::string_view key, std::string_view message);
  /// The same as `report` for an error of other code at a dotted key below this section:
  /// `data.length: message`. One without such a place, and one whose place the file lacks, are
  /// shown at `key`, or at the nearest section of it that the file has.
  void report_at(std::string_view key, std::string_view error) const;
  /// Throws Error for the first key of the file that was never read, with the most similar known
  /// key. Within Document::read it reports all.
  void reject_unread();
  /// Calls `part`. Within Document::read, a UserError that it throws is added to the others, and
  /// this section counts as wrong.
  void attempt(const std::function<void()>& part) const;
  /// Whether Document::read found no error in the key, or at or below this section.
  bool is_valid(std::string_view key = "") const;

  struct State;  // config/state.h

 private:
  friend class Document;
  friend Declarations collect_declarations(const std::function<void(Section)>& read_all);
  explicit Section(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::size_t read_choice_index(std::string_view key,
                                const std::vector<std::string>& words,
                                std::size_t chosen,
                                const KeySpec& spec);

  std::shared_ptr<State> state_;
};

/// A config file, parsed strictly: UTF-8 (a byte-order mark and CRLF are accepted), one document, a
/// mapping at the root. Rejects duplicate keys, merge keys, type tags, alias bombs, leading zeros
/// and nesting deeper than 64.
class Document {
 public:
  /// Reads the file, then applies overrides `dotted.key=value` in order (value in YAML; errors show
  /// the location `--set ...`). Throws Error; FileError if the file cannot be read.
  static Document load(const std::string& path, const std::vector<std::string>& overrides = {});
  static Document parse(std::string_view text,
                        const std::string& name,
                        const std::vector<std::string>& overrides = {});

  Section root() const;
  /// Calls `read_all` with root(). A wrong value is left at its default, so that reading goes on;
  /// errors that may follow from earlier ones are left out. Throws one Error with a line for each.
  void read(const std::function<void(Section)>& read_all) const;
  /// Returns every key with its final value, as YAML that parses to the same config. Call it after
  /// all of root() was read.
  std::string resolved() const;

 private:
  std::shared_ptr<Section::State> state_;
};

}  // namespace weft::config
