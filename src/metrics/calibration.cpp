#include "metrics/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace weft::metrics {

namespace {

constexpr std::size_t kBins = 15;

/// Bins include their upper bound, not the lower one.
std::size_t bin_of(double probability) {
  const auto above = std::ceil(probability * static_cast<double>(kBins));
  return static_cast<std::size_t>(std::clamp(above, 1.0, static_cast<double>(kBins))) - 1;
}

}  // namespace

double expected_calibration_error(const std::vector<bool>& is_correct,
                                  const std::vector<double>& probabilities) {
  std::array<double, kBins> gaps = {};  // sum of probability minus correctness
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    gaps[bin_of(probabilities[i])] += probabilities[i] - (is_correct[i] ? 1 : 0);
  }
  double sum = 0;
  for (const double gap : gaps) {
    sum += std::abs(gap);
  }
  return probabilities.empty() ? 0 : sum / static_cast<double>(probabilities.size());
}

}  // namespace weft::metrics
