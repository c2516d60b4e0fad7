#pragma once

#include <cstdint>
#include <optional>

namespace weft::kernels::cpu {

/// A bfloat16 as it lies in memory: the upper half of a float.
struct Bf16 {
  uint16_t bits;
};

/// Two neighbours along the depth of a product, which some processors multiply at once.
struct Pair {
  Bf16 first;
  Bf16 second;
};

/// Draws of one dropout (see chance_bits.h) for a kernel that reads them 16 elements at a time.
struct Draws {
  uint32_t key[2];
  uint32_t threshold;  // 0: nothing is dropped
  float scale;         // of what is kept
  uint32_t second;     // upper words of the counter
  uint32_t third;
};

/// Rows `begin` to `end` of (N, columns) tensors, all contiguous. `first_row` is the number of row
/// 0 in the draws.
struct Rows {
  int64_t begin;
  int64_t end;
  int64_t columns;
  int64_t first_row;
};

template <class T>
struct NormForward {
  Rows rows;
  Draws draws;
  const T* residual;  // or null: `branch` is normalised as it is, without dropout
  const T* branch;
  const float* weight;
  const float* bias;
  float epsilon;
  bool is_rms;  // the mean is left in
  T* sum;       // residual + dropout(branch), rounded; null without a residual
  T* out;       // null: only the sum is wanted, no norm
  float* mean;  // (N)
  float* rstd;  // (N) 1 / standard deviation
};

template <class T>
struct NormBackward {
  Rows rows;
  Draws draws;
  const T* x;  // what was normalised
  const T* gradient;
  const float* weight;
  const float* mean;
  const float* rstd;
  bool is_rms;
  T* dx;
  T* dbranch;      // dropout's gradient of dx, or null
  float* dweight;  // (columns) of these rows only, overwritten
  float* dbias;
};

/// y[i] = activation(x[i]), or gated activation(x[i][0 .. columns)) * x[i][columns .. 2 columns),
/// for some rows; backward dx from the gradient of y.
template <class T>
struct ActivationRows {
  const T* x;
  T* y;               // forward; backward where it is wanted again, else null
  const T* gradient;  // backward, of y
  T* dx;              // backward; may be `gradient` where nothing is gated
  int64_t rows;
  int64_t columns;
};

/// Softmax and its gradient, row by row, in place: `logits` become (p - onehot) where
/// `wants_gradient`.
template <class T>
struct CrossEntropyRows {
  T* logits;
  const T* bias;  // (columns) or null
  const int64_t* targets;
  float* losses;   // (rows)
  float* scratch;  // (columns rounded up to 16)
  int64_t rows;
  int64_t columns;
  bool wants_gradient;
};

inline constexpr int64_t kIgnoredTarget = -100;

/// Elements of a block of the flat parameters: the unit of what is known to be zero. A whole number
/// of vectors of any level.
inline constexpr int64_t kUpdateBlock = 256;

/// Some blocks of the flat parameters. The gradient is consumed: zero afterwards.
template <class T>
struct AdamwSlice {
  float* master;
  Bf16* compute;  // or null
  T* gradient;    // null: zero everywhere
  float* first;   // null: both moments are zero, and so is the gradient
  float* second;
  int64_t size;
  float gradient_scale;
  float decay;  // 1 - lr * weight_decay
  float beta1;
  float beta2;
  float step_size;          // lr / (1 - beta1^t)
  float second_correction;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

template <class T>
struct SgdSlice {
  float* master;
  Bf16* compute;  // or null
  T* gradient;    // null: zero everywhere
  float* first;   // or null
  int64_t size;
  float gradient_scale;
  float lr;
  float momentum;  // 0 in the first step
  float weight_decay;
};

template <class T>
struct EmbeddingRow {
  const T* tables[3];  // rows to be added; null where absent
  T* out;
  int64_t columns;
};

/// out[j] = sum of table[rows[i] * columns + j] over i; `wide` is written where it is given, else
/// `out`.
template <class T>
struct GatherSum {
  const T* table;
  const int64_t* rows;
  int64_t count;
  int64_t columns;
  float* wide;
  T* out;
};

/// Attention of one head of one sequence.
template <class T>
struct AttentionTask {
  const T* q;
  const T* k;
  const T* v;
  int64_t q_stride;
  int64_t kv_stride;
  int64_t queries;
  int64_t keys;
  int64_t width;  // K
  float scale;
  bool is_causal;
  int64_t prefix;  // keys that all queries see though causal
  int64_t first;   // place of the first query among the keys
  int64_t reach;   // keys on each side that a query sees; `keys` or more: all
  const float*
      rotary;  // (keys, rotary_width) cosines and sines that turn queries and keys, or null
  int64_t rotary_width;  // features that are turned, the first ones
  /// Added to the scores (of log2), or null: query i and key j get bias[j - i - first]. Read up to
  /// 16 elements beyond.
  const float* bias;
  Draws draws;
  T* out;
  int64_t out_stride;
  float* lse;  // (queries) log2 of the sum of 2^(scores / ln 2)
  float* scratch;
  // Backward only.
  const T* gradient;  // of out
  T* dq;
  int64_t dq_stride;
  T* dk;
  T* dv;
  int64_t dkv_stride;
  float* dbias;  // sums by distance of the scores' gradients, as `bias`; added to; or null
  /// Heads of queries that share the keys add up their gradients here, (2, keys rounded up to
  /// tiles, padded width); null: this head is alone.
  float* shared;
  bool is_first;  // of those heads
  bool is_last;
};

/// Rows of x, contiguous, into int8, each with a scale of its own.
template <class T>
struct QuantizeRows {
  const T* x;
  int8_t* out;
  float* scales;  // (rows)
  int64_t rows;
  int64_t columns;
};

/// Sums of int8 products, contiguous, into the numbers that they stand for.
template <class T>
struct ScaleSums {
  const int32_t* sums;
  const float* row_scales;
  const float* column_scales;
  const float* bias;  // (columns) or null
  T* out;
  int64_t rows;
  int64_t columns;
};

inline constexpr int64_t kQueryBlock = 48;  // rows of scores at once
inline constexpr int64_t kKeyTile = 512;    // columns of scores at once

// `static`: each unit its own copy, for a copy made for one processor level must not serve another.
static inline int64_t round_up_16(int64_t x) { return (x + 15) / 16 * 16; }

/// Floats of scratch for one task, forward and backward alike; no less than what its parts take.
static inline int64_t attention_scratch(int64_t queries, int64_t keys, int64_t width) {
  const int64_t padded_width = round_up_16(width);
  const int64_t tiles = (keys + kKeyTile - 1) / kKeyTile;
  const int64_t tile = (keys < kKeyTile ? round_up_16(keys) : kKeyTile) + 16;
  const int64_t of_queries = 3 * (queries + kQueryBlock) * padded_width + 2 * (queries + 16);
  const int64_t of_keys = (4 * tiles + 2) * tile * padded_width;
  const int64_t of_blocks = 3 * kQueryBlock * tile + kQueryBlock * round_up_16(keys) / 32;
  constexpr int64_t kRounding = 16 * 16;
  return of_queries + of_keys + of_blocks + kRounding;
}

/// A part of a matrix that is laid out anew for a product: `rows` times `columns` of it lie at
/// `in`, `stride` apart. What `out` has beyond them is filled with zeros.
template <class T>
struct Pack {
  const T* in;
  int64_t stride;
  int64_t rows;
  int64_t columns;
  T* out;
  int64_t out_rows;  // as they lie at `in`
  int64_t out_columns;
};

/// out[i][j] = scale * sums[i][j] + bias[j], added to what is there where `adds`; rounded once.
template <class T>
struct ProductRows {
  const float* sums;
  int64_t sums_stride;
  int64_t rows;
  int64_t columns;
  T* out;
  int64_t out_stride;
  const T* bias;  // or null
  float scale;
  bool adds;
};

/// Rows (rows, depth) times a panel of pairs (depth / 2, width, 2).
struct PanelProduct {
  const Bf16* a;
  int64_t a_stride;  // even, as the depth
  int64_t rows;
  int64_t depth;
  const Bf16* b;
  int64_t width;      // whole vectors
  float* sums;        // (rows, kPanelColumns)
  bool adds_to_sums;  // they begin with what lies there
  /// Where they go if nothing is added to them any more, its own sums apart; otherwise they are
  /// kept.
  std::optional<ProductRows<Bf16>> out;
};

/// So many products of fp32 are added up one after the other, then these sums: longer ones would
/// show the rounding.
inline constexpr int64_t kSumDepth = 128;
inline constexpr int64_t kMostFewRows = 11;

/// A packed right side lies in panels of so many columns, one panel after the other.
inline constexpr int64_t kPanelColumns = 64;
/// The last panel is as wide as its columns need, in such steps.
inline constexpr int64_t kPanelStep = 16;

/// The width of the panel that begins with this one of so many columns.
inline int64_t panel_width(int64_t begin, int64_t columns) {
  const int64_t left = columns - begin;
  return left >= kPanelColumns ? kPanelColumns : (left + kPanelStep - 1) / kPanelStep * kPanelStep;
}

/// Columns `begin` to `end` of out (rows, columns) = x weight + bias, in fp32, of kMostFewRows rows
/// at most.
struct FewRows {
  const float* x = nullptr;
  int64_t x_row = 0;  // strides
  int64_t x_depth = 0;
  const float* weight = nullptr;
  int64_t weight_stride = 0;          // of its rows as they lie
  bool weight_is_transposed = false;  // it lies (columns, depth)
  bool weight_is_packed = false;      // it lies in panels; there is no stride
  const float* bias = nullptr;        // or null
  float* out = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t depth = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

}  // namespace weft::kernels::cpu
