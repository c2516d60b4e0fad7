#pragma once

#include <vector>

namespace weft::metrics {

/// Expected calibration error (arXiv:1706.04599, equation 3): the mean gap between the probability
/// given and the share that came true, over 15 equal bins of the probability.
double calibration_error(const std::vector<bool>& came_true,
                         const std::vector<double>& probabilities);

}  // namespace weft::metrics
