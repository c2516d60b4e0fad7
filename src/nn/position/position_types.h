#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/position/position.h"

namespace weft::nn {

/// Type `learned`: a vector for each position (arXiv:1705.03122).
std::shared_ptr<Position> make_learned_position(const PositionOptions& options);
PositionMaker read_learned_position(config::Section& section);

struct SinusoidalOptions {
  bool is_interleaved = true;  // sines and cosines alternate; otherwise all sines come first
};

/// Sines and cosines of positions 0, 1, ...: (positions, dim) fp32.
at::Tensor sinusoids(int64_t positions, int64_t dim, bool is_interleaved);

/// Type `sinusoidal`: sines and cosines with wavelengths from 2 pi to 10,000 * 2 pi
/// (arXiv:1706.03762, section 3.5), not learned.
PositionMaker sinusoidal_position(const SinusoidalOptions& sinusoidal);
PositionMaker read_sinusoidal_position(config::Section& section);

struct RotaryPositionOptions {
  double theta = 10'000;      // base of the wavelengths; of global layers if some are local
  double local_theta = 0;     // of local layers (ModernBERT); 0: the same
  double partial_factor = 1;  // fraction of a head's features that are rotated
  kernels::RotaryScaling scaling = {};

  bool operator==(const RotaryPositionOptions&) const = default;
};

/// Rotated features of a head of K features.
int64_t rotary_width(const RotaryPositionOptions& rotary, int64_t head_dim);

/// Type `rotary` (RoPE, arXiv:2104.09864): the attention rotates queries and keys by angles that
/// grow with the position.
PositionMaker rotary_position(const RotaryPositionOptions& rotary);
PositionMaker read_rotary_position(config::Section& section);

/// Type `shaw`: learned vectors of the distance between query and key, up to a limit, that are
/// added to the key in the scores and to the value (arXiv:1803.02155). All heads of a layer share
/// them, or with `share_layers` all layers.
PositionMaker read_shaw_position(config::Section& section);

/// Type `transformer_xl`: scores (q + u) . k + (q + w) . (W r), where r is the sinusoid of the
/// distance (arXiv:1901.02860, section 3.3). u, w and W belong to the layer.
PositionMaker read_transformer_xl_position(config::Section& section);

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

struct AlibiOptions {
  std::vector<double> slopes = {};  // one for each head; empty: alibi_slopes
};

/// Slopes of H heads. A power of two: 2^(-8 (h + 1) / H) (arXiv:2108.12409, section 3). Other
/// numbers: those of the next lower power of two, then every second one of twice as many heads, as
/// in the code of the authors.
std::vector<double> alibi_slopes(int64_t heads);

/// Type `alibi`: a score decreases with the distance of query and key, by the slope of its head.
PositionMaker alibi_position(const AlibiOptions& alibi);
PositionMaker read_alibi(config::Section& section);

/// Positions in a grid, row by row: the vector of a position is that of its row and that of its
/// column, one after the other (arXiv:1912.12180; in Reformer, arXiv:2001.04451, section 5).
struct AxialOptions {
  std::vector<int64_t> shape;  // rows and columns
  std::vector<int64_t> dims;   // widths of their vectors, which add up to that of the embeddings

  bool operator==(const AxialOptions&) const = default;
};

PositionMaker axial_position(const AxialOptions& options);
/// Type `axial`.
PositionMaker read_axial_position(config::Section& section);

/// Type `convolutional`: the embeddings, plus a convolution of them over each sequence, which is
/// surrounded by zeros and so tells tokens where they are. `grouped`: with a GELU
/// (arXiv:2006.11477, section 2); `depthwise`: a kernel for each feature (arXiv:2102.10882,
/// section 3.3). Throws config::Error for causal models, whose later tokens it would show.
PositionMaker read_convolutional_position(config::Section& section);

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

/// Type `tupe`: scores of two positions, with projections of their own that all layers share,
/// beside those of the contents (arXiv:2006.15595, equation 10); the first token, [CLS], has scores
/// that do not depend on positions (equation 12).
PositionMaker read_tupe_position(config::Section& section);

}  // namespace weft::nn
