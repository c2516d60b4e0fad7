#pragma once

#include <memory>

#include "nn/norm/norm.h"

namespace weft::nn {

/// Type `rms` (arXiv:1910.07467): scale only, the mean is not subtracted.
std::shared_ptr<Norm> make_rms_norm(const NormOptions& options);

}  // namespace weft::nn
