#pragma once

#include <vector>

namespace weft::metrics {

/// Expected calibration error (arXiv:1706.04599, equation 3): the mean gap between confidence and
/// accuracy over 15 equal-width bins of the confidence, weighted by bin size.
double expected_calibration_error(const std::vector<bool>& is_correct,
                                  const std::vector<double>& probabilities);

}  // namespace weft::metrics
