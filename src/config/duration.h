#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::config {

enum class DurationUnit { kSteps, kEpochs, kTokens, kSeconds, kMinutes, kHours };

/// Seconds in a unit of time; nullopt for steps, epochs and tokens.
std::optional<double> seconds_in(DurationUnit unit);

/// Duration of training: `2000 steps`, `3 epochs`, `10M tokens`, `90 seconds`, `45 minutes`, `2
/// hours` (k, M, G are allowed before any unit).
struct Duration {
  double amount = 0;
  DurationUnit unit = DurationUnit::kSteps;

  bool operator==(const Duration&) const = default;
};

/// Throws std::invalid_argument with what is allowed (amount > 0 unless `allow_zero`; whole steps).
Duration parse_duration(std::string_view text, bool allow_zero = false);

/// `2000 steps`.
std::string to_string(const Duration& duration);

/// Whether `a` is longer than `b`; false if their units cannot be compared without the data.
bool is_longer(const Duration& a, const Duration& b);

/// A duration, or a fraction of the whole run: `100 steps`, `10%`, `0.1`.
struct RelativeDuration {
  Duration duration = {};                         // if there is no fraction
  std::optional<double> fraction = std::nullopt;  // 0 to 1

  /// The duration in a run of this length.
  Duration of(const Duration& run) const;
};

/// Throws std::invalid_argument with what is allowed. Zero is.
RelativeDuration parse_relative_duration(std::string_view text);

/// `2000 steps`, `10%`.
std::string to_string(const RelativeDuration& duration);

}  // namespace weft::config
