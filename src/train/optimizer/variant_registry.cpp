#include "train/optimizer/variant_registry.h"

#include <algorithm>

#include "base/string_util.h"

namespace weft::train {

namespace {

bool has_key(const VariantKeys& variant, const std::string& key) {
  return std::find(variant.keys.begin(), variant.keys.end(), key) != variant.keys.end();
}

}  // namespace

void reject_keys_of_others(const config::Section& section,
                           std::string_view type,
                           const std::vector<VariantKeys>& variants) {
  for (const auto& variant : variants) {
    for (const auto& key : variant.keys) {
      std::vector<std::string> types;
      for (const auto& other : variants) {
        if (has_key(other, key)) {
          types.push_back(other.type);
        }
      }
      const bool is_own = std::find(types.begin(), types.end(), type) != types.end();
      if (!is_own && section.has(key)) {
        section.report(key,
                       str_cat("has no effect here, only with type: ", join_alternatives(types)));
      }
    }
  }
}

}  // namespace weft::train
