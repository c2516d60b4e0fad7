#include "metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace weft::metrics {

namespace {

constexpr uint64_t kBootstrapSeed = 1;

/// Of sorted values, at least one.
double percentile(const std::vector<double>& values, double fraction) {
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace

std::vector<std::size_t> bootstrap_rows(std::size_t rows, uint64_t sample) {
  Random random(kBootstrapSeed, RandomPurpose::kSample, sample, 0);
  std::vector<std::size_t> drawn(rows);
  std::generate(drawn.begin(), drawn.end(), [&] { return random.uniform_int(rows); });
  return drawn;
}

Interval percentile_interval(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none};
  }
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

}  // namespace weft::metrics
