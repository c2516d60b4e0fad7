#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "models/config/part_options.h"

namespace weft::models {

/// Of one order: how many n-grams have the count 1, 2, 3 and 4 (index 0 is not used).
using CountsOfCounts = std::array<uint64_t, 5>;

/// What is subtracted from the count of an n-gram: nothing from 0, then D1, D2, and D3 from all
/// higher counts.
using Discounts = std::array<double, 4>;

/// Which keys of `model:` a method reads: none, `discount`, or `fallback_discounts`.
enum class DiscountKeys { kNone, kOne, kThree };

/// A value of `model.smoothing`. With c(hw) the count of an n-gram, c(h) the sum over w, T(h) the
/// number of different w, and P'(w) the probability after the history without its first token:
///
///   P(w|h) = (c(hw) - D(c(hw))) / (c(h) + [adds_types] T(h)) + (mass left) P'(w)
struct SmoothingMethod {
  std::string_view name;
  std::string_view help;
  /// Below the highest order, the count of an n-gram is the number of different tokens before it;
  /// n-grams that nothing precedes keep their count.
  bool uses_continuation_counts = false;
  bool adds_types = false;
  /// P(w|h) = (c(hw) + k) / (c(h) + k V) instead, without a lower order after a seen history.
  bool adds_k = false;
  /// Order 1 is always interpolated with the uniform distribution; otherwise only if tokens of the
  /// vocabulary were not seen.
  bool interpolates_order_1 = false;
  /// May the data lack n-grams (model.prune)? The mass of pruned n-grams goes to the lower order.
  bool may_prune = true;
  DiscountKeys discount_keys = DiscountKeys::kNone;
  /// Discounts of an order. Throws UserError if the counts do not determine them.
  Discounts (*discounts)(const CountsOfCounts& counts,
                         std::size_t order,
                         const NgramOptions& options) = nullptr;
};

/// All methods, those of Weft first.
const std::deque<SmoothingMethod>& smoothing_methods();
/// Throws std::invalid_argument for an unknown name.
const SmoothingMethod& smoothing_method(std::string_view name);
/// Adds a method of a program that links Weft, before weft::run. Throws std::invalid_argument if
/// the name is taken.
void register_smoothing_method(const SmoothingMethod& method);

}  // namespace weft::models
