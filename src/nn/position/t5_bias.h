#pragma once

#include "nn/position/position.h"

namespace weft::nn {

struct T5BiasOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;  // larger distances share the last bucket

  bool operator==(const T5BiasOptions&) const = default;
};

/// Returns the bucket of `offset` = key position - query position. Causal: keys after the query
/// share the bucket of distance 0.
int64_t relative_position_bucket(int64_t offset, const T5BiasOptions& options, bool is_causal);

/// Type `t5`: a learned bias of the scores for each head and distance bucket (arXiv:1910.10683,
/// section 2.1).
PositionMaker t5_bias(const T5BiasOptions& options);
/// Reads `num_buckets` and `max_distance`. Throws config::Error.
T5BiasOptions read_t5_bias_options(config::Section& section, T5BiasOptions options);
PositionMaker read_t5_bias(config::Section& section);

}  // namespace weft::nn
