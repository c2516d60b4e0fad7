#include "config/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/node.h"

namespace weft::config {

namespace {

constexpr std::array<std::pair<std::string_view, DurationUnit>, 4> kUnits = {{
    {"steps", DurationUnit::kSteps},
    {"epochs", DurationUnit::kEpochs},
    {"tokens", DurationUnit::kTokens},
    {"minutes", DurationUnit::kMinutes},
}};

constexpr std::string_view kAllowed =
    "must be a number with the unit steps, epochs, tokens or minutes, as in 2000 steps or 10M "
    "tokens";

[[noreturn]] void reject(std::string_view whole, std::string_view reason) {
  throw std::invalid_argument(str_cat(quote(whole), reason, ", ", kAllowed));
}

std::optional<DurationUnit> unit_of(std::string_view word) {
  for (const auto& [name, unit] : kUnits) {
    if (word == name || word == name.substr(0, name.size() - 1)) {
      return unit;
    }
  }
  return std::nullopt;
}

/// Removes a leading `k`, `M` or `G` that is followed by a unit or the end, and returns its factor.
double take_scale(std::string_view& rest) {
  constexpr std::array<std::pair<char, double>, 3> kScales = {{{'k', 1e3}, {'M', 1e6}, {'G', 1e9}}};
  for (const auto& [suffix, scale] : kScales) {
    if (rest.starts_with(suffix)) {
      rest = trim(rest.substr(1));
      return scale;
    }
  }
  return 1.0;
}

std::string_view duration_name_of(DurationUnit unit) {
  for (const auto& [name, known] : kUnits) {
    if (known == unit) {
      return name;
    }
  }
  return {};
}

}  // namespace

Duration parse_duration(std::string_view text, bool allow_zero) {
  const std::string_view whole = trim(text);
  const std::string_view number = whole.starts_with('+') ? whole.substr(1) : whole;
  double amount = 0;
  const char* end = number.data() + number.size();
  const auto [after, error] = std::from_chars(number.data(), end, amount);
  if (error != std::errc() || !std::isfinite(amount)) {
    reject(whole, " is not a duration");
  }
  if (number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9') {
    reject(whole, " has a leading zero");
  }
  std::string_view rest = trim({after, static_cast<std::size_t>(end - after)});
  amount *= take_scale(rest);
  if (rest.empty()) {
    reject(whole, " has no unit");
  }
  const auto unit = unit_of(rest);
  if (!unit) {
    const auto near = did_you_mean(rest, {"steps", "epochs", "tokens", "minutes"});
    reject(whole,
           weft::str_cat(" has an unknown unit",
                         near.empty() ? "" : weft::str_cat(" (did you mean '", near, "'?)")));
  }
  if (amount < 0 || (amount == 0 && !allow_zero)) {
    throw std::invalid_argument(quote(whole) +
                                (allow_zero ? ", must not be negative" : ", must be more than 0"));
  }
  const bool is_counted = *unit == DurationUnit::kSteps || *unit == DurationUnit::kTokens;
  if (is_counted && amount != std::floor(amount)) {
    throw std::invalid_argument(
        weft::str_cat(quote(whole), ", must be a whole number of ", duration_name_of(*unit)));
  }
  if (amount > 1e15) {
    throw std::invalid_argument(quote(whole) + ", must be at most 1e15");
  }
  return {.amount = amount, .unit = *unit};
}

std::string to_string(const Duration& duration) {
  const bool is_whole = duration.amount == std::floor(duration.amount) && duration.amount < 1e18;
  const std::string amount = is_whole ? std::to_string(static_cast<int64_t>(duration.amount))
                                      : shortest_repr(duration.amount);
  return str_cat(amount, " ", duration_name_of(duration.unit));
}

}  // namespace weft::config
