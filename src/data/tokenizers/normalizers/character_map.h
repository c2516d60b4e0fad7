#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

/// SentencePiece's precompiled normalisation rules: a double array of the texts that change, and
/// what they become.
class CharacterMap {
 public:
  /// Nothing where the bytes cannot be such a map.
  static std::optional<CharacterMap> read(std::string_view bytes);

  /// What the text becomes by the shortest rule that it begins with; nothing without one.
  std::optional<std::string_view> find(std::string_view text) const;

  /// The longest rule that the text begins with.
  struct Rule {
    std::string_view becomes;
    std::size_t length = 0;
  };
  std::optional<Rule> find_longest(std::string_view text) const;

 private:
  template <class Visit>
  void visit_rules(std::string_view text, const Visit& visit) const;
  bool stays_inside() const;

  std::vector<uint32_t> units_;
  std::string texts_;  // each closed by a NUL
};

/// The bytes of base64 text (RFC 4648), nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);
std::string to_base64(std::string_view bytes);

}  // namespace weft::data
