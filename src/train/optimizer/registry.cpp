#include "train/optimizer/registry.h"

#include <algorithm>
#include <iterator>

#include "base/string_util.h"

namespace weft::train {

namespace {

// `linear, cosine or polynomial`.
std::string alternatives(const std::vector<std::string>& words) {
  const std::vector<std::string> but_last(words.begin(), std::prev(words.end()));
  return but_last.empty() ? words.back() : str_cat(join(but_last), " or ", words.back());
}

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
        section.fail(key, str_cat("has no effect here, only with type: ", alternatives(types)));
      }
    }
  }
}

}  // namespace weft::train
