#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace weft::cli {

/// One verb of the command line. The table of all stands in verbs.cpp; each verb has a file of its
/// own, `<verb>.cpp`, and is declared in verbs.h.
struct Verb {
  std::string name;
  std::string summary;  // one line of `weft help`
  int (*run)(
      std::vector<std::string> arguments);  // without program and verb; returns the exit status
};

/// What a verb's help shows beside its options.
struct HelpText {
  std::string usage;                  // `weft train CONFIG [options]`
  std::string about;                  // a sentence or two
  std::vector<std::string> examples;  // whole commands, at least one
};

/// A mistake on the command line: `weft VERB: what was found, what is allowed`.
class UsageError : public UserError {
 public:
  using UserError::UserError;
};

/// The arguments of a verb, parsed by cxxopts. `--help` is always there. Unknown options are
/// refused with the nearest right one. Values are taken raw: no splitting at commas.
class Arguments {
 public:
  /// `least` and `most` count the positional arguments.
  Arguments(HelpText help, std::size_t least, std::size_t most);
  ~Arguments();

  /// Declares an option without a value, or with one (shown as `placeholder`).
  Arguments& flag(const std::string& name, const std::string& help);
  Arguments& value(const std::string& name,
                   const std::string& placeholder,
                   const std::string& help);

  /// False when help was asked for (and printed): the verb returns 0. Throws UsageError.
  bool parse(const std::vector<std::string>& arguments);

  bool has(const std::string& name) const;
  /// The option's last value.
  std::string get(const std::string& name, const std::string& otherwise = "") const;
  /// Every value of a repeated option, in order.
  std::vector<std::string> all(const std::string& name) const;
  /// Throw UsageError for anything but a number in [least, most].
  int64_t integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const;
  double number(const std::string& name, double otherwise, double least, double most) const;
  const std::vector<std::string>& positional() const { return positional_; }
  /// Throws UsageError `weft VERB: message`.
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  struct State;  // keeps cxxopts out of this header
  std::unique_ptr<State> state_;
  HelpText help_;
  std::size_t least_;
  std::size_t most_;
  std::vector<std::string> positional_;
};

}  // namespace weft::cli
