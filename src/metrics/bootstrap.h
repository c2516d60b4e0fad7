#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::metrics {

/// Indices of `rows` rows drawn with replacement: a bootstrap sample (Efron, "Bootstrap methods:
/// another look at the jackknife", 1979). A pure function of its arguments, so two systems that are
/// compared get the same rows (a paired bootstrap).
std::vector<std::size_t> bootstrap_rows(std::size_t rows, uint64_t sample);

/// The middle 95 % of the values: from the 2.5th to the 97.5th percentile, interpolated.
struct Interval {
  double low = 0;
  double high = 0;
};
/// Values that are not a number are left out; NaN if there are no others.
Interval percentile_interval(std::vector<double> values);

}  // namespace weft::metrics
