#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// SentencePiece's precompiled normalisation rules: a double-array trie of the texts to replace,
/// and their replacements.
class CharacterMap {
 public:
  /// Returns nullopt if the bytes are not a valid map.
  static std::optional<CharacterMap> read(std::string_view bytes);

  /// Replacement of the shortest rule that matches at the start of the text, or nullopt.
  std::optional<std::string_view> find(std::string_view text) const;

  /// The longest rule that matches at the start of the text.
  struct Rule {
    std::string_view replacement;
    std::size_t length = 0;
  };
  std::optional<Rule> find_longest(std::string_view text) const;

 private:
  template <class Visit>
  void visit_rules(std::string_view text, const Visit& visit) const;
  bool is_in_bounds() const;

  std::vector<uint32_t> units_;
  std::string texts_;  // each terminated by NUL
};

}  // namespace weft::data
