#include "data/tokenizers/normalizers/character_map.h"

#include <algorithm>

namespace weft::data {

namespace {

// Fields of a double-array unit in the layout of Darts-clone.
bool has_leaf(uint32_t unit) { return ((unit >> 8) & 1U) == 1U; }
uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFFU; }
uint32_t label(uint32_t unit) { return unit & (0x80000000U | 0xFFU); }
uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

uint32_t read_unit(std::string_view bytes, std::size_t at) {
  uint32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    unit |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return unit;
}

}  // namespace

std::optional<CharacterMap> CharacterMap::read(std::string_view bytes) {
  if (bytes.size() < 8) {
    return std::nullopt;
  }
  const uint32_t size = read_unit(bytes, 0);
  if (size < 4 || size % 4 != 0 || size >= bytes.size() - 4) {
    return std::nullopt;
  }
  CharacterMap map;
  map.units_.reserve(size / 4);
  for (std::size_t at = 4; at < std::size_t{4} + size; at += 4) {
    map.units_.push_back(read_unit(bytes, at));
  }
  map.texts_ = std::string(bytes.substr(std::size_t{4} + size));
  if (map.texts_.back() != '\0' || !map.is_in_bounds()) {
    return std::nullopt;
  }
  return map;
}

/// Whether no lookup leaves the array and no value the texts: libsentencepiece, which reads the
/// same bytes, does not check.
bool CharacterMap::is_in_bounds() const {
  for (std::size_t node = 0; node < units_.size(); ++node) {
    const uint32_t unit = units_[node];
    const bool is_value = (unit >> 31) == 1U;
    const bool is_inside =
        is_value ? value(unit) < texts_.size() : ((node ^ offset(unit)) | 0xFFU) < units_.size();
    if (!is_inside) {
      return false;
    }
  }
  return true;
}

/// Calls visit(rule) for each rule that matches at the start of the text, shorter ones first, until
/// it returns false.
template <class Visit>
void CharacterMap::visit_rules(std::string_view text, const Visit& visit) const {
  std::size_t node = offset(units_[0]);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) {
      return;
    }
    const bool ends = has_leaf(units_[node]);
    node ^= offset(units_[node]);
    if (ends) {
      const std::size_t start = node < units_.size() ? value(units_[node]) : texts_.size();
      if (start >= texts_.size()) {
        return;
      }
      const auto replacement =
          std::string_view(texts_).substr(start, texts_.find('\0', start) - start);
      if (!visit(Rule{replacement, at + 1})) {
        return;
      }
    }
  }
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  std::optional<std::string_view> found;
  visit_rules(text, [&](const Rule& rule) {
    found = rule.replacement;
    return false;
  });
  return found;
}

std::optional<CharacterMap::Rule> CharacterMap::find_longest(std::string_view text) const {
  std::optional<Rule> found;
  visit_rules(text, [&](const Rule& rule) {
    found = rule;
    return true;
  });
  return found;
}

}  // namespace weft::data
