#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/node.h"
#include "config/section.h"

namespace weft::config {

/// Reasons why a scalar is not a valid number, for the error message.
enum class NumberError { kNone, kNotANumber, kLeadingZero, kQuoted, kTooLarge, kNotFinite };

template <class Number>
struct ParsedNumber {
  Number value = 0;
  NumberError error = NumberError::kNone;
};

/// Parses decimal digits or a whole number with an exponent (`1e6`); no leading zeros, other bases
/// or fractions.
ParsedNumber<int64_t> parse_integer(const Node& scalar);

/// Parses a decimal number; `.inf`, `.nan` and values out of range for a double are errors.
ParsedNumber<double> parse_number(const Node& scalar);

std::optional<bool> parse_boolean(const Node& scalar);

/// Whether the value is `null`, empty, or the plain word `none`.
bool is_none(const Node& node);

bool contains(const Range& range, double value);

/// `>= 1`, `in [0, 1)`; empty for a range without bounds.
std::string to_string(const Range& range);

}  // namespace weft::config
