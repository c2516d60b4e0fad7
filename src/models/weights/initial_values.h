#pragma once

#include <cstdint>

namespace weft::models {

/// How a matrix begins.
struct InitialValues {
  enum class Kind { kNormal, kUniform, kZero, kSinusoids };
  Kind kind = Kind::kNormal;
  double deviation = 0.02;  // kNormal
  double bound = 0;         // kUniform: both sides
  double cutoff = 0;        // kNormal: drawn again beyond so many deviations; 0: never
  int64_t first_rows = 0;   // kNormal: so many rows begin smaller or larger by a factor
  double first_scale = 1;
  bool zeroes_pad = false;  // the row of the pad id begins, and is not kept, at zero
};

}  // namespace weft::models
