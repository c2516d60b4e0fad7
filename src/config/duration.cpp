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

constexpr std::array<std::pair<std::string_view, DurationUnit>, 6> kUnits = {{
    {"steps", DurationUnit::kSteps},
    {"epochs", DurationUnit::kEpochs},
    {"tokens", DurationUnit::kTokens},
    {"seconds", DurationUnit::kSeconds},
    {"minutes", DurationUnit::kMinutes},
    {"hours", DurationUnit::kHours},
}};

/// What a text may be besides a positive duration.
struct DurationForm {
  bool allows_zero = false;
  bool allows_fraction = false;
};

[[noreturn]] void reject(std::string_view whole, std::string_view reason, DurationForm form) {
  throw std::invalid_argument(
      str_cat(quote(whole), reason,
              ", must be a number with the unit steps, epochs, tokens, seconds, minutes or hours, "
              "as in 2000 steps or 10M tokens",
              form.allows_fraction ? ", or a fraction of the run, as in 10% or 0.1" : ""));
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

Duration parse(std::string_view text, DurationForm form) {
  const std::string_view whole = trim(text);
  const std::string_view number = whole.starts_with('+') ? whole.substr(1) : whole;
  double amount = 0;
  const char* end = number.data() + number.size();
  const auto [after, error] = std::from_chars(number.data(), end, amount);
  if (error != std::errc() || !std::isfinite(amount)) {
    reject(whole, " is not a duration", form);
  }
  if (number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9') {
    reject(whole, " has a leading zero", form);
  }
  std::string_view rest = trim({after, static_cast<std::size_t>(end - after)});
  amount *= take_scale(rest);
  if (rest.empty()) {
    reject(whole, " has no unit", form);
  }
  const auto unit = unit_of(rest);
  if (!unit) {
    std::vector<std::string> names;
    for (const auto& known : kUnits) {
      names.emplace_back(known.first);
    }
    const auto near = did_you_mean(rest, names);
    reject(whole,
           str_cat(" has an unknown unit",
                   near.empty() ? "" : str_cat(" (did you mean '", near, "'?)")),
           form);
  }
  if (amount < 0 || (amount == 0 && !form.allows_zero)) {
    throw std::invalid_argument(
        quote(whole) + (form.allows_zero ? ", must not be negative" : ", must be more than 0"));
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

}  // namespace

std::optional<double> seconds_in(DurationUnit unit) {
  switch (unit) {
    case DurationUnit::kSteps:
    case DurationUnit::kEpochs:
    case DurationUnit::kTokens:
      return std::nullopt;
    case DurationUnit::kSeconds:
      return 1;
    case DurationUnit::kMinutes:
      return 60;
    case DurationUnit::kHours:
      return 3600;
  }
  return std::nullopt;
}

Duration parse_duration(std::string_view text, bool allow_zero) {
  return parse(text, {.allows_zero = allow_zero});
}

std::string to_string(const Duration& duration) {
  const bool is_whole = duration.amount == std::floor(duration.amount) && duration.amount < 1e18;
  const std::string amount = is_whole ? std::to_string(static_cast<int64_t>(duration.amount))
                                      : shortest_repr(duration.amount);
  return str_cat(amount, " ", duration_name_of(duration.unit));
}

bool is_longer(const Duration& a, const Duration& b) {
  if (a.unit == b.unit) {
    return a.amount > b.amount;
  }
  const auto seconds_a = seconds_in(a.unit);
  const auto seconds_b = seconds_in(b.unit);
  return seconds_a && seconds_b && a.amount * *seconds_a > b.amount * *seconds_b;
}

Duration RelativeDuration::of(const Duration& run) const {
  return fraction ? Duration{.amount = *fraction * run.amount, .unit = run.unit} : duration;
}

RelativeDuration parse_relative_duration(std::string_view text) {
  const std::string_view whole = trim(text);
  const bool is_percentage = whole.ends_with('%');
  const std::string_view number = trim(whole.substr(0, whole.size() - (is_percentage ? 1 : 0)));
  double amount = 0;
  const char* end = number.data() + number.size();
  const auto [after, error] = std::from_chars(number.data(), end, amount);
  const bool is_number = error == std::errc() && after == end;
  // A number without a unit that is not below 1 more likely lacks its unit.
  if (is_number && amount >= 0 && (is_percentage ? amount <= 100 : amount < 1)) {
    return {.fraction = is_percentage ? amount / 100 : amount};
  }
  if (is_number && is_percentage) {
    throw std::invalid_argument(quote(whole) + ", must be between 0% and 100%");
  }
  return {.duration = parse(text, {.allows_zero = true, .allows_fraction = true})};
}

std::string to_string(const RelativeDuration& duration) {
  if (!duration.fraction) {
    return to_string(duration.duration);
  }
  const double percentage = std::round(*duration.fraction * 1e8) / 1e6;
  return percentage / 100 == *duration.fraction ? shortest_repr(percentage) + "%"
                                                : shortest_repr(*duration.fraction);
}

}  // namespace weft::config
