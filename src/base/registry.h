#pragma once

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"

namespace weft {

/// Named definitions of one kind: the built-in ones in a visible table, and those that a program
/// adds before it calls weft::run. A Definition has a member `name`. References to definitions stay
/// valid. Not thread-safe: add before training begins.
template <class Definition>
class Registry {
 public:
  /// `kind`: "attention type", for messages.
  Registry(std::string_view kind, std::vector<Definition> built_in) : kind_(kind) {
    for (auto& definition : built_in) {
      add(std::move(definition));
    }
  }

  /// Throws std::invalid_argument if the name is taken.
  void add(Definition definition) {
    if (find(definition.name) != nullptr) {
      throw std::invalid_argument(
          str_cat(kind_, " '", definition.name, "' is already registered, choose another name"));
    }
    definitions_.push_back(std::move(definition));
  }

  /// Returns nullptr for an unknown name.
  const Definition* find(std::string_view name) const {
    const auto found = std::find_if(definitions_.begin(), definitions_.end(),
                                    [&](const Definition& each) { return each.name == name; });
    return found == definitions_.end() ? nullptr : &*found;
  }

  /// Throws std::invalid_argument for an unknown name, with the nearest one.
  const Definition& at(std::string_view name) const {
    const auto* const found = find(name);
    if (found == nullptr) {
      const auto near = did_you_mean(std::string(name), names());
      throw std::invalid_argument(str_cat(kind_, " '", name, "' is not one of ", join(names()),
                                          near.empty() ? "" : ", did you mean '" + near + "'?"));
    }
    return *found;
  }

  /// In the order of registration.
  const std::deque<Definition>& all() const { return definitions_; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& definition : definitions_) {
      names.emplace_back(definition.name);
    }
    return names;
  }

 private:
  std::string kind_;
  std::deque<Definition> definitions_;
};

}  // namespace weft
