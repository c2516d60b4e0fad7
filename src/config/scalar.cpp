#include "config/scalar.h"

#include <charconv>
#include <cmath>
#include <string>

#include "base/string_util.h"

namespace weft::config {

namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Properties of `[+-] digits [. digits] [e [+-] digits]`.
struct Decimal {
  bool is_valid = false;
  bool has_leading_zero = false;
  bool has_point = false;
  bool has_exponent = false;
};

Decimal inspect(std::string_view word) {
  Decimal decimal;
  std::size_t at = !word.empty() && (word[0] == '+' || word[0] == '-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < word.size() && is_digit(word[at])) {
      ++at;
    }
    return at - begin;
  };
  const std::size_t begin = at;
  std::size_t count = digits();
  decimal.has_leading_zero = count > 1 && word[begin] == '0';
  if (at < word.size() && word[at] == '.') {
    decimal.has_point = true;
    ++at;
    count += digits();
  }
  if (count > 0 && at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    decimal.has_exponent = true;
    ++at;
    at += at < word.size() && (word[at] == '+' || word[at] == '-') ? 1 : 0;
    count = digits();
  }
  decimal.is_valid = count > 0 && at == word.size();
  return decimal;
}

std::string_view without_plus(std::string_view word) {
  return word.starts_with('+') ? word.substr(1) : word;
}

bool names_infinity_or_nan(std::string_view word) {
  std::string lower(word);
  for (char& letter : lower) {
    letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter);
  }
  std::string_view bare = lower;
  if (bare.starts_with('-') || bare.starts_with('+')) {
    bare.remove_prefix(1);
  }
  return bare == ".inf" || bare == ".nan" || bare == "inf" || bare == "nan" || bare == "infinity";
}

NumberError number_error(const Node& scalar, const Decimal& decimal) {
  if (decimal.is_valid && !scalar.is_plain) {
    return NumberError::kQuoted;
  }
  if (names_infinity_or_nan(scalar.scalar)) {
    return NumberError::kNotFinite;
  }
  if (!decimal.is_valid) {
    return NumberError::kNotANumber;
  }
  return decimal.has_leading_zero ? NumberError::kLeadingZero : NumberError::kNone;
}

ParsedNumber<double> parse_decimal(std::string_view word) {
  ParsedNumber<double> parsed;
  word = without_plus(word);
  const auto result = std::from_chars(word.data(), word.data() + word.size(), parsed.value);
  if (result.ec == std::errc::result_out_of_range) {
    parsed.error = NumberError::kTooLarge;
  }
  return parsed;
}

}  // namespace

ParsedNumber<int64_t> parse_integer(const Node& scalar) {
  const Decimal decimal = inspect(scalar.scalar);
  ParsedNumber<int64_t> parsed;
  parsed.error = number_error(scalar, decimal);
  if (parsed.error != NumberError::kNone) {
    return parsed;
  }
  if (!decimal.has_exponent) {
    const std::string_view word = without_plus(scalar.scalar);
    const auto result = std::from_chars(word.data(), word.data() + word.size(), parsed.value);
    if (decimal.has_point) {
      parsed.error = NumberError::kNotANumber;
    } else if (result.ec == std::errc::result_out_of_range) {
      parsed.error = NumberError::kTooLarge;
    }
    return parsed;
  }
  const auto [value, error] = parse_decimal(scalar.scalar);
  constexpr double kExact = 9007199254740992.0;  // 2^53: integers up to it are exact doubles
  if (error == NumberError::kNone && value != std::floor(value)) {
    parsed.error = NumberError::kNotANumber;
  } else if (error != NumberError::kNone || std::abs(value) > kExact) {
    parsed.error = NumberError::kTooLarge;
  } else {
    parsed.value = static_cast<int64_t>(value);
  }
  return parsed;
}

ParsedNumber<double> parse_number(const Node& scalar) {
  const NumberError error = number_error(scalar, inspect(scalar.scalar));
  if (error != NumberError::kNone) {
    return {.error = error};
  }
  return parse_decimal(scalar.scalar);
}

std::optional<bool> parse_boolean(const Node& scalar) {
  const std::string& word = scalar.scalar;
  if (!scalar.is_plain) {
    return std::nullopt;
  }
  if (word == "true" || word == "True" || word == "TRUE") {
    return true;
  }
  if (word == "false" || word == "False" || word == "FALSE") {
    return false;
  }
  return std::nullopt;
}

bool is_none(const Node& node) {
  return node.kind == Node::Kind::kNull ||
         (node.kind == Node::Kind::kScalar && node.is_plain && node.scalar == "none");
}

bool contains(const Range& range, double value) {
  const bool is_above = range.is_min_exclusive ? value > range.min : value >= range.min;
  const bool is_below = range.is_max_exclusive ? value < range.max : value <= range.max;
  return std::isfinite(value) && is_above && is_below;
}

std::string to_string(const Range& range) {
  const bool has_min = std::isfinite(range.min);
  const bool has_max = std::isfinite(range.max);
  if (has_min && has_max) {
    return str_cat("in ", range.is_min_exclusive ? "(" : "[", shortest_repr(range.min), ", ",
                   shortest_repr(range.max), range.is_max_exclusive ? ")" : "]");
  }
  if (has_min) {
    return (range.is_min_exclusive ? "> " : ">= ") + shortest_repr(range.min);
  }
  return has_max ? (range.is_max_exclusive ? "< " : "<= ") + shortest_repr(range.max)
                 : std::string();
}

}  // namespace weft::config
