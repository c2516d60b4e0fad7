#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// Named definitions of one kind: the built-in ones in a visible table, and those that a program
/// adds before it calls weft::run. Definitions have a member `name`.
/// Not thread-safe: add before training begins.
template <class Definition>
class Registry {
 public:
  /// `kind`: "attention type", for messages.
  Registry(std::string_view kind, std::vector<Definition> built_in)
      : kind_(kind), definitions_(std::move(built_in)) {}

  /// Throws std::invalid_argument if the name is taken.
  void add(Definition definition) {
    if (find(definition.name) != nullptr) {
      throw std::invalid_argument(std::string(kind_) + " '" + std::string(definition.name) +
                                  "' is registered twice");
    }
    definitions_.push_back(std::move(definition));
  }

  /// Returns nullptr for an unknown name.
  const Definition* find(std::string_view name) const {
    const auto found = std::find_if(definitions_.begin(), definitions_.end(),
                                    [&](const Definition& each) { return each.name == name; });
    return found == definitions_.end() ? nullptr : &*found;
  }

  const std::vector<Definition>& all() const { return definitions_; }

 private:
  std::string_view kind_;
  std::vector<Definition> definitions_;
};

}  // namespace weft
