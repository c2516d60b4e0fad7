#pragma once

#include <algorithm>
#include <any>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/reference.h"
#include "config/section.h"

namespace weft::train {

/// A variant of a config section, and the keys that are its own.
struct VariantKeys {
  std::string type;
  std::vector<std::string> keys;
};

/// `'adam' is not one of adamw, sgd, did you mean 'adamw'?`
std::string unknown_type(std::string_view type, const std::vector<std::string>& known);

/// Throws config::Error for a key of the section that only other types have: `has no effect here,
/// only with type: adamw`.
void reject_keys_of_others(const config::Section& section,
                           std::string_view type,
                           const std::vector<VariantKeys>& variants);

/// The variants of a config section, chosen by its key `type`, in display order. A Definition has a
/// `name` and, in a std::any, the `defaults` of the options that are its own. Not synchronised: add
/// variants before the first config is read.
template <class Definition>
class Registry {
 public:
  /// `kind`: what errors call a variant: "optimizer".
  Registry(std::string_view kind, std::vector<Definition> definitions) : kind_(kind) {
    for (auto& definition : definitions) {
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

  /// The reference stays valid. Throws std::invalid_argument for an unknown name, with the nearest.
  const Definition& at(std::string_view name) const {
    const auto* const found = find(name);
    if (found == nullptr) {
      throw std::invalid_argument(str_cat(kind_, " ", unknown_type(name, names())));
    }
    return *found;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& definition : definitions_) {
      names.push_back(definition.name);
    }
    return names;
  }

  /// Reads the key `type`; `type` holds the default. Throws config::Error.
  void read_type(config::Section& section, std::string& type, std::string_view help) const {
    config::Choices<std::string> choices;
    for (const auto& definition : definitions_) {
      choices.emplace_back(definition.name, definition.name);
    }
    section.read_choice("type", type, choices, {.help = help, .suggests_nearest = true});
  }

  /// Reads the keys that belong to `type` alone by `read(definition, section, own)`, where `own`
  /// holds that definition's options; in documentation mode, the keys of all types. An empty `own`
  /// is first set to the defaults of `type`. Throws config::Error, also for a key of other types.
  template <class Read>
  void read_own_keys(config::Section& section,
                     const std::string& type,
                     std::any& own,
                     const Read& read) const {
    if (section.is_documenting()) {
      for (const auto& definition : definitions_) {
        auto conditional = section.only_with("type: " + definition.name);
        auto defaults = definition.defaults;
        read(definition, conditional, defaults);
      }
      return;
    }
    reject_keys_of_others(section, type, own_keys(read));
    const auto& definition = at(type);
    if (!own.has_value()) {
      own = definition.defaults;
    }
    read(definition, section, own);
  }

 private:
  const Definition* find(std::string_view name) const {
    const auto found =
        std::find_if(definitions_.begin(), definitions_.end(),
                     [&](const Definition& definition) { return definition.name == name; });
    return found == definitions_.end() ? nullptr : &*found;
  }

  template <class Read>
  std::vector<VariantKeys> own_keys(const Read& read) const {
    std::vector<VariantKeys> variants;
    for (const auto& definition : definitions_) {
      const auto declarations = config::collect_declarations([&](config::Section section) {
        auto defaults = definition.defaults;
        read(definition, section, defaults);
      });
      variants.push_back({.type = definition.name, .keys = {}});
      for (const auto& key : declarations.keys) {
        variants.back().keys.push_back(key.path);
      }
    }
    return variants;
  }

  std::string kind_;
  std::deque<Definition> definitions_;  // references into it survive `add`
};

}  // namespace weft::train
