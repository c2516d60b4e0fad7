#pragma once

#include <cstdint>

#include "formats/json.h"

namespace weft::objectives {

/// What an evaluation found of one item.
struct Verdict {
  int64_t item = 0;
  double loss = 0;
  formats::Json facts = {};  // label, prediction, score, ... as `evaluate --errors` writes them
};

}  // namespace weft::objectives
