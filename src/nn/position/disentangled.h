#pragma once

#include <cstdint>

#include "nn/position/position.h"

namespace weft::nn {

struct DisentangledOptions {
  DistanceScoreOptions scores = {};
  int64_t buckets = 256;       // of the distances on each side; 0: each distance has its own
  int64_t max_distance = 512;  // larger ones share the last bucket
  bool has_norm = true;        // of the vectors
  double norm_epsilon = 1e-7;

  bool operator==(const DisentangledOptions&) const = default;
};

/// Vectors for the distances on each side.
int64_t distance_span(const DisentangledOptions& options);

/// Bucket of the distance `offset` = query position - key position, of either sign: half of the
/// buckets of a side are single distances, the others grow logarithmically.
int64_t disentangled_bucket(int64_t offset, const DisentangledOptions& options);

/// Type `disentangled`: each layer compares the content of a token with a vector of the distance of
/// the other (arXiv:2006.03654, section 3.1; buckets as in arXiv:2111.09543).
PositionMaker disentangled_position(const DisentangledOptions& options);
/// Reads the keys; those of `given` are the defaults. Throws config::Error.
DisentangledOptions read_disentangled_options(config::Section& section, DisentangledOptions given);
PositionMaker read_disentangled_position(config::Section& section);

}  // namespace weft::nn
