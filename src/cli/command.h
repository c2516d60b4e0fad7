#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/help.h"

namespace weft::cli {

/// One command of the command line. commands.cpp has the table of all; each is implemented in a
/// file `<command>.cpp` and declared in commands.h.
struct Command {
  std::string group;  // title of its part of `weft help`
  std::string name;
  std::string summary;  // one line of `weft help`
  int (*run)(
      std::vector<std::string> arguments);  // without program and command; returns the exit status
  bool runs_on_ranks = false;               // `weft launch` can start it
};

/// A command line error: `weft COMMAND: what was found, what is allowed`.
class UsageError : public UserError {
 public:
  using UserError::UserError;
};

/// Arguments of a command, parsed by cxxopts. `--help` and `--help-all` are always available and
/// use the width of the terminal. Unknown options are rejected with the nearest valid one. Values
/// are not split at commas.
class Arguments {
 public:
  /// `min` and `max` count the positional arguments.
  Arguments(HelpText help, std::size_t min, std::size_t max);
  ~Arguments();

  /// Puts the options declared from here on into a group of the help; before the first call they
  /// are in `Options`.
  Arguments& group(const std::string& title, HelpLevel level = HelpLevel::kHelp);

  /// Declares an option without a value, or with one (shown as `placeholder`).
  Arguments& flag(const std::string& name, const std::string& help);
  Arguments& value(const std::string& name,
                   const std::string& placeholder,
                   const std::string& help);

  /// Returns false if help was requested (and printed): the command returns 0. Throws UsageError.
  bool parse(const std::vector<std::string>& arguments);

  bool has(const std::string& name) const;
  /// Last value of the option.
  std::string get(const std::string& name, const std::string& fallback = "") const;
  /// All values of a repeated option, in order.
  std::vector<std::string> all(const std::string& name) const;
  /// Throw UsageError for anything but a number in [min, max].
  int64_t integer(const std::string& name, int64_t fallback, int64_t min, int64_t max) const;
  double number(const std::string& name, double fallback, double min, double max) const;
  /// Value of the word that the option names. Throws UsageError for a word without a value.
  template <class Value>
  Value choice(
      const std::string& name,
      Value fallback,
      const std::type_identity_t<std::vector<std::pair<std::string_view, Value>>>& values) const {
    std::vector<std::string> words;
    for (const auto& [word, value] : values) {
      words.emplace_back(word);
    }
    return has(name) ? values[find_choice(name, get(name), words)].second : fallback;
  }
  /// Index of `word`, a value of the option. Throws UsageError, with the nearest, if it is not
  /// there.
  std::size_t find_choice(const std::string& name,
                          const std::string& word,
                          const std::vector<std::string>& words) const;
  const std::vector<std::string>& positional() const { return positional_; }
  /// Throws UsageError `weft COMMAND: message`.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void print_help(bool shows_all) const;

  struct State;  // keeps cxxopts out of this header
  std::unique_ptr<State> state_;
  HelpText help_;
  std::size_t min_positional_;
  std::size_t max_positional_;
  std::vector<std::string> positional_;
};

/// Throws UsageError `WHERE 'NAME', did you mean 'NEAREST'? allowed: NAMES`.
[[noreturn]] void reject_name(std::string_view where,
                              const std::string& name,
                              const std::vector<std::string>& names);

/// The entry of a table with this name; all entries have a `name`. Throws like reject_name.
template <class Entry>
const Entry& find_entry(const std::vector<Entry>& table,
                        const std::string& name,
                        std::string_view where) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (entry.name == name) {
      return entry;
    }
    names.push_back(entry.name);
  }
  reject_name(where, name, names);
}

}  // namespace weft::cli
