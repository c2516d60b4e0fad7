#pragma once

namespace weft::models {

/// How a matrix begins.
struct InitialValues {
  enum class Kind { kNormal, kUniform, kZero, kOne, kSinusoids };
  Kind kind = Kind::kNormal;
  double deviation = 0.02;  // kNormal
  double bound = 0;         // kUniform: both sides
  double cutoff = 0;        // kNormal: drawn again beyond so many deviations; 0: never
  bool zeroes_pad = false;  // the row of the pad id begins, and is not kept, at zero
};

}  // namespace weft::models
