#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::config {

enum class DurationUnit { kSteps, kEpochs, kTokens, kMinutes };

/// Duration of training: `2000 steps`, `3 epochs`, `10M tokens`, `45 minutes` (k, M, G are allowed
/// before any unit).
struct Duration {
  double amount = 0;
  DurationUnit unit = DurationUnit::kSteps;

  bool operator==(const Duration&) const = default;
};

/// Throws std::invalid_argument with what is allowed (amount > 0 unless `allow_zero`; whole steps).
Duration parse_duration(std::string_view text, bool allow_zero = false);

/// `2000 steps`.
std::string to_string(const Duration& duration);

}  // namespace weft::config
