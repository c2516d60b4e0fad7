#pragma once

#include <cstdint>

namespace weft::kernels {

enum class Activation {
  kGelu,      // x * Phi(x), using erf (arXiv:1606.08415)
  kGeluTanh,  // tanh approximation of GELU, `gelu_new`
  kRelu,
  kSilu,
  kTanh,
};

/// Cells of recurrent layers, in the form of torch::nn. H: width of the state.
enum class Cell {
  kLstm,  // 4 H gates: input, forget, candidate, output
  kGru,   // 3 H gates: reset, update, candidate; the reset is after the product with the state
  kGruResetBefore,  // the same gates; the reset is in front of that product (arXiv:1406.1078)
  kTanh,            // H
  kRelu,            // H
};

}  // namespace weft::kernels

namespace weft::kernels::cpu {

/// bfloat16 as stored in memory: the upper half of a float.
struct Bf16 {
  uint16_t bits;
};

/// Two neighbours along the depth of a product, which some processors multiply at once.
struct Pair {
  Bf16 first;
  Bf16 second;
};

/// Random bits of one dropout (see random_bits.h), for kernels that read 16 elements at a time.
struct DropoutRng {
  uint32_t key[2];
  uint32_t threshold;  // 0: nothing is dropped
  float scale;         // of the kept elements
  uint32_t second;     // upper words of the counter
  uint32_t third;
};

/// Rows `begin` to `end` of (N, columns) tensors, all contiguous. `first_row` is the number of row
/// 0 for the random bits.
struct Rows {
  int64_t begin;
  int64_t end;
  int64_t columns;
  int64_t first_row;
};

template <class T>
struct NormForward {
  Rows rows;
  DropoutRng dropout_rng;
  const T* residual;  // or null: `branch` is normalised as is, without dropout
  const T* branch;
  const float* weight;
  const float* bias;  // or null
  float epsilon;
  bool is_rms;  // RMSNorm: the mean is not subtracted
  T* sum;       // residual + dropout(branch), rounded; null without a residual
  T* out;       // null: only compute the sum, no norm
  float* mean;  // (N)
  float* rstd;  // (N) 1 / standard deviation
};

template <class T>
struct NormBackward {
  Rows rows;
  DropoutRng dropout_rng;
  const T* x;  // input of the normalisation
  const T* gradient;
  const float* weight;
  const float* mean;
  const float* rstd;
  bool is_rms;
  T* dx;
  T* dbranch;  // dx through dropout, or null
  /// (blocks, 2, columns) Gradients of weight and bias: the sums over the rows of each block,
  /// overwritten. A CPU computes one block per call.
  float* sums;
  int64_t block_rows;
};

/// y[i] = activation(x[i]), or gated activation(x[i][0 .. columns)) * x[i][columns .. 2 columns),
/// for some rows; backward: dx from the gradient of y.
template <class T>
struct ActivationRows {
  const T* x;
  T* y;               // forward; backward if it is to be recomputed, else null
  const T* gradient;  // backward, of y
  T* dx;              // backward; may alias `gradient` if not gated
  int64_t rows;
  int64_t columns;
};

/// One step of a recurrent cell for rows [begin, end). Each row is a sequence. A GRU with the reset
/// in front of the product has two halves, before the product of the reset state and after it.
template <class T>
struct CellForward {
  Cell cell;
  int64_t begin;
  int64_t end;
  int64_t columns;                 // H
  float cell_clip;                 // LSTM: largest absolute value of its cell state
  const T* from_input;             // (rows, gates)
  const T* from_state;             // (rows, gates); in two halves (rows, 2 H), then (rows, H)
  const T* state;                  // (rows, H) before
  const float* cell_state_before;  // LSTM: its cell state (rows, H)
  T* gates;                        // (rows, gates) after their activation
  float* cell_state;  // (rows, H) LSTM: its cell state; GRU: the state's part of the candidate
  T* out;             // (rows, H) the state after; of the first half the reset state
};

/// Its gradient.
template <class T>
struct CellBackward {
  Cell cell;
  int64_t begin;
  int64_t end;
  int64_t columns;
  int64_t continued;  // the first rows have a next step
  float cell_clip;
  const T* gates;
  const T* state;
  const T* out;
  const float* cell_state_before;
  const float* cell_state;
  const T* gradient;   // (rows, H) of `out`, but for what the next step adds
  const T* from_next;  // (continued, H) through the product with the state; null: in `gradient`
  /// (rows, H) what else the next step adds, then what this one adds to the one before. LSTM: to
  /// the gradient of the cell state; GRU: to that of the state.
  float* direct;
  T* input_gradient;  // (rows, gates) of from_input
  T* state_gradient;  // GRU: of from_state; otherwise it is input_gradient
  /// (rows, H) LSTM: the state before its projection, or null; GRU: the reset state. As in the
  /// forward pass, which does not keep it.
  T* recomputed;
};

/// Softmax cross entropy and its gradient, row by row, in place: `logits` become (p - onehot) if
/// `wants_gradient`.
template <class T>
struct CrossEntropyRows {
  T* logits;
  const T* bias;  // (columns) or null
  const int64_t* targets;
  float* losses;   // (rows)
  float* scratch;  // (columns rounded up to 16), for a CPU
  int64_t rows;
  int64_t columns;
  int64_t stride;  // of the rows of logits
  bool wants_gradient;
};

inline constexpr int64_t kIgnoredTarget = -100;

/// Elements per block of the flat parameter buffer: the granularity of the nonzero marks. A whole
/// number of vectors at any level.
inline constexpr int64_t kUpdateBlock = 256;

/// Range of blocks of the flat parameter buffer. The gradient is consumed: zero afterwards.
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
  const T* tables[3];  // rows to be added; null if absent
  T* out;
  int64_t columns;
};

/// out[j] = sum of table[rows[i] * columns + j] over i; written to `sum_fp32` if not null, else to
/// `out`.
template <class T>
struct GatherSum {
  const T* table;
  const int64_t* rows;
  int64_t count;
  int64_t columns;
  float* sum_fp32;
  T* out;
};

/// Scores of distances (DistanceVectors), which are scaled with those of the keys: query i and key
/// j use column rows[j - i] of their rows.
template <class T>
struct DistanceScores {
  const T* query;  // (queries, stride), or null
  const T* key;    // (keys, stride), or null
  int64_t stride;
  const int32_t* rows;  // or null: no such scores
  // Backward only: gradients, not scaled; accumulated.
  float* dquery;
  float* dkey;
};

/// Heads of rows rotated by the angles of the rows' positions.
template <class T>
struct RotateRows {
  const T* x;  // (rows, heads, width), the rows strided
  int64_t row_stride;
  int64_t rows;
  int64_t heads;
  int64_t width;
  const float* table;  // a rotary_table
  int64_t rotary_width;
  const int64_t* positions;  // (rows)
  float direction;           // 1, or -1 for the gradient
  T* out;                    // (rows, heads, width)
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
  int64_t prefix;         // keys that all queries attend to even if causal
  int64_t first;          // position of the first query among the keys
  int64_t window_radius;  // keys on each side that a query attends to; `keys` or more: all
  const float*
      rotary;  // (keys, rotary_width) cosines and sines that rotate queries and keys, or null
  int64_t rotary_width;  // number of rotated features, the first ones
  /// Added to the scores (in log2 units), or null: query i and key j use bias[j - i - first]. Read
  /// up to 16 elements past the end.
  const float* bias;
  DistanceScores<T> distances;
  /// Rows of round_up_16(keys) bits: the keys that each query attends to. Or null: all of them.
  const uint16_t* mask;
  DropoutRng dropout_rng;
  T* out;
  int64_t out_stride;
  float* lse;  // (queries) log2 of the sum of 2^(scores / ln 2)
  float* scratch;
  // Backward only.
  const T* gradient;  // of out
  const float* dlse;  // (queries) gradient of the natural logarithm, or null
  T* dq;
  int64_t dq_stride;
  T* dk;
  T* dv;
  int64_t dkv_stride;
  float* dbias;  // gradients of the scores summed by distance, like `bias`; accumulated; or null
  /// Query heads that share keys accumulate their gradients here, (2, keys rounded up to 16, padded
  /// width); null: the keys are not shared.
  float* shared;
  bool is_first;  // of those heads
  bool is_last;
};

/// Attention of one head of one sequence to the keys that edges name: query i has the edges
/// begins[i] - begins[0] to before begins[i + 1] - begins[0].
template <class T>
struct EdgeAttention {
  const T* q;
  const T* k;
  const T* v;
  int64_t q_stride;
  int64_t k_stride;
  int64_t v_stride;
  int64_t queries;
  int64_t width;  // K
  float scale;
  const int64_t* begins;
  const int32_t* keys;   // (edges) rows of k and v
  const int32_t* kinds;  // (edges) rows of `vectors`
  const float* vectors;  // (kinds, width) added to the keys of the edges of a kind, or null
  float* weights;        // (edges)
  float* dropped;        // (edges) after dropout; may be `weights`
  T* out;
  int64_t out_stride;
  // Backward only.
  const T* gradient;  // of out
  float* dweights;    // (edges) gradients of `dropped`, then those of `weights`; overwritten
  T* dq;
  int64_t dq_stride;
  float* dk;  // accumulated, like `dv` and `dvectors`
  float* dv;
  int64_t dkv_stride;
  float* dvectors;  // (kinds, width), or null
};

inline constexpr int64_t kQueryBlock = 48;  // rows per block of scores
inline constexpr int64_t kKeyTile = 512;    // columns per block of scores

// `static`, so that no unit uses a copy that was compiled for another CPU level.
static inline int64_t round_up_16(int64_t x) { return (x + 15) / 16 * 16; }

/// Floats of scratch for one task, forward or backward; an upper bound on what its parts need.
static inline int64_t attention_scratch(int64_t queries, int64_t keys, int64_t width) {
  const int64_t padded_width = round_up_16(width);
  const int64_t tiles = (keys + kKeyTile - 1) / kKeyTile;
  const int64_t tile = (keys < kKeyTile ? round_up_16(keys) : kKeyTile) + 16;
  const int64_t of_queries = 3 * (queries + kQueryBlock) * padded_width + 2 * (queries + 16);
  const int64_t of_keys = (4 * tiles + 2) * tile * padded_width;
  const int64_t of_blocks = (3 * kQueryBlock + 2) * tile + kQueryBlock * round_up_16(keys) / 32;
  constexpr int64_t kRounding = 16 * 16;
  return of_queries + of_keys + of_blocks + kRounding;
}

}  // namespace weft::kernels::cpu
