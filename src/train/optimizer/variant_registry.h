#pragma once

#include <any>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "config/reference.h"
#include "config/section.h"

namespace weft::train {

/// A variant of a config section, and the keys that are its own.
struct VariantKeys {
  std::string type;
  std::vector<std::string> keys;
};

/// Throws config::Error for a key of the section that only other types have: `has no effect here,
/// only with type: adamw`.
void reject_keys_of_others(const config::Section& section,
                           std::string_view type,
                           const std::vector<VariantKeys>& variants);

/// The variants of a config section, chosen by its key `type`, in display order. A Definition also
/// has, in a std::any, the `defaults` of the options that are its own.
template <class Definition>
class VariantRegistry : public Registry<Definition> {
 public:
  using Registry<Definition>::Registry;

  /// Reads the key `type`; `type` holds the default. Throws config::Error.
  void read_type(config::Section& section, std::string& type, std::string_view help) const {
    section.read_name("type", type, this->names(), {.help = help, .suggests_nearest = true});
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
      for (const auto& definition : this->all()) {
        auto conditional = section.only_with("type: " + definition.name);
        auto defaults = definition.defaults;
        read(definition, conditional, defaults);
      }
      return;
    }
    reject_keys_of_others(section, type, own_keys(read));
    const auto& definition = this->at(type);
    if (!own.has_value()) {
      own = definition.defaults;
    }
    read(definition, section, own);
  }

 private:
  template <class Read>
  std::vector<VariantKeys> own_keys(const Read& read) const {
    std::vector<VariantKeys> variants;
    for (const auto& definition : this->all()) {
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
};

}  // namespace weft::train
