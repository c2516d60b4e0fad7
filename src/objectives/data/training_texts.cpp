#include "objectives/data/training_texts.h"

#include <algorithm>
#include <set>

namespace weft::objectives {

bool names_pairs(const std::vector<data::DataItem>& items) {
  return std::any_of(items.begin(), items.end(),
                     [](const auto& item) { return item.source || item.target; });
}

data::LanguageCodes language_codes_of(const data::DataOptions& options,
                                      const std::string& source,
                                      const std::string& target) {
  std::vector<std::string> sources;
  std::set<std::string> targets;
  data::LanguageCodes codes;
  for (const auto* items : {&options.train, &options.evaluate}) {
    for (const data::DataItem& item : *items) {
      sources.push_back(item.language);
      targets.insert(item.target_language);
    }
  }
  codes.others = sources;
  codes.others.insert(codes.others.end(), targets.begin(), targets.end());
  sources.insert(sources.begin(), source);
  const auto named = std::find_if(sources.begin(), sources.end(),
                                  [](const std::string& code) { return !code.empty(); });
  codes.source = named == sources.end() ? codes.source : *named;
  // An item without a language takes the objective's.
  if (targets.erase("") > 0 && !target.empty()) {
    targets.insert(target);
  }
  codes.target = targets.size() == 1 ? *targets.begin() : target;
  return codes;
}

}  // namespace weft::objectives
