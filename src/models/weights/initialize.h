#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "models/model.h"

namespace weft::models {

/// Initial distribution of a matrix.
struct Initializer {
  enum class Kind { kNormal, kUniform, kZero, kSinusoids };
  Kind kind = Kind::kNormal;
  double init_std = 0.02;  // kNormal
  double bound = 0;        // kUniform: U(-bound, bound)
  double shift = 0;        // kUniform: added to that
  double cutoff = 0;       // kNormal: resampled beyond this many standard deviations; 0: never
  int64_t first_rows = 0;  // kNormal: this many rows are scaled by first_scale
  double first_scale = 1;
  std::string same_as = {};     // draws the values of this parameter; empty: its own
  bool zeroes_padding = false;  // the pad row starts at zero, but is not kept there
};

/// Initialises the named parameters (all, where `names` is empty) as published: matrices and
/// embeddings from normal(0, init_std), the pad row zero, biases zero, norm scales one. Each is a
/// pure function of (seed, name).
void initialize(Model& model, uint64_t seed, const std::set<std::string>& names = {});

}  // namespace weft::models
