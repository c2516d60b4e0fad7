#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/section.h"
#include "models/config/json_fields.h"

/// Enums in config.json, by the words of a config.
namespace weft::models {

/// Empty if the value has no word.
template <class Enum>
std::string choice_word(const config::Choices<Enum>& choices, Enum value) {
  const auto found = std::ranges::find(choices, value, &std::pair<std::string_view, Enum>::second);
  return found == choices.end() ? "" : std::string(found->first);
}

/// An absent key leaves the value. Throws formats::Error for an unknown word.
template <class Enum>
void read_choice_word(const JsonFields& fields,
                      std::string_view key,
                      const config::Choices<Enum>& choices,
                      Enum& value) {
  auto word = choice_word(choices, value);
  fields.read(key, word);
  const auto found = std::ranges::find(choices, word, &std::pair<std::string_view, Enum>::first);
  if (found == choices.end()) {
    std::vector<std::string> allowed;
    for (const auto& choice : choices) {
      allowed.emplace_back(choice.first);
    }
    fields.fail(key, str_cat("found ", quoted_text(word), ", allowed is ", join(allowed)));
  }
  value = found->second;
}

}  // namespace weft::models
