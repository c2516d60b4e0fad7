#pragma once

#include <cstdint>

#include "formats/json.h"

namespace weft::objectives {

/// Evaluation result of one item.
struct ExampleResult {
  int64_t item = 0;
  double loss = 0;
  formats::Json fields = {};  // label, prediction, score, ... as `evaluate --hardest` writes them
};

}  // namespace weft::objectives
