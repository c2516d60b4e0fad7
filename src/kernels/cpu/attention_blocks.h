// Blocks of scores: the keys they cover, bias and masking, and memory offsets. Included only by
// per-level translation units.
#pragma once

#include "kernels/cpu/attention_workspace.h"
#include "kernels/cpu/dropout_kernels.h"
#include "kernels/cpu/product_kernels.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline constexpr float kLog2E = 1.44269504F;

// Block of scores: queries starting at `row`, keys starting at `column`.
struct Block {
  int64_t row;
  int64_t rows;
  int64_t column;
  int64_t columns;  // visible to any of its queries
};

// End of the keys visible to the query at this position; may exceed the number of keys.
template <class T>
inline int64_t visible_end(const AttentionTask<T>& task, int64_t position) {
  const int64_t window_end = position + 1 + task.window_radius;
  return task.is_causal ? larger(position + 1, smaller(task.prefix, window_end)) : window_end;
}

// End of the keys visible to any of `rows` queries from `row`: the end for the last one.
template <class T>
inline int64_t key_end(const AttentionTask<T>& task, int64_t row, int64_t rows) {
  return smaller(task.keys, visible_end(task, task.first + row + rows - 1));
}

// Block in the key tile at `tile`. Its first column is a multiple of 16, as dropout requires.
template <class T>
inline Block block_of(const AttentionTask<T>& task, int64_t row, int64_t rows, int64_t tile) {
  const int64_t end = smaller(key_end(task, row, rows), tile + kKeyTile);
  const int64_t begin = larger(tile, (task.first + row - task.window_radius) / 16 * 16);
  return {row, rows, begin, end - begin};
}

// Bits of the vector of columns starting at j.
inline uint32_t bits_at(const uint16_t* bits, int64_t j) {
  return static_cast<uint32_t>(bits[j / 16]) >> static_cast<unsigned>(j % 16);
}

// Sets the scores of keys that query i may not attend to, and the padding, to `-inf`.
template <class T>
inline void mask_row(const AttentionTask<T>& task, const Block& block, int64_t i, float* row) {
  const int64_t padded = round_up_16(block.columns);
  const int64_t position = task.first + block.row + i - block.column;
  const int64_t seen =
      smaller(block.columns, visible_end(task, position + block.column) - block.column);
  for (int64_t j = 0; j < smaller(padded, position - task.window_radius); ++j) {
    row[j] = -__builtin_inff();
  }
  for (int64_t j = larger(0, seen); j < padded; ++j) {
    row[j] = -__builtin_inff();
  }
  if (task.mask != nullptr) {
    const auto* const words =
        task.mask + ((block.row + i) * round_up_16(task.keys) + block.column) / 16;
    for (int64_t j = 0; j < padded; j += kLanes) {
      const Vec is_seen = keep(set(1.0F), bits_at(words, j));
      store(row + j, where_less(zero(), is_seen, load(row + j), set(-__builtin_inff())));
    }
  }
}

// Offset of the bias for the block's first column and query i.
template <class T>
inline int64_t bias_offset(const AttentionTask<T>& task, const Block& block, int64_t i) {
  return block.column - task.first - block.row - i;
}

template <class T>
inline void add_bias(const AttentionTask<T>& task, const Block& block, int64_t i, float* row) {
  if (task.bias == nullptr) {
    return;
  }
  const float* const bias = task.bias + bias_offset(task, block, i);
  for (int64_t j = 0; j < round_up_16(block.columns); j += kLanes) {
    store(row + j, load(row + j) + load(bias + j));
  }
}

inline float widen(float x) { return x; }
inline float widen(Bf16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16U);
}

// Adds the scores of the distances between query i and the keys of the block.
template <class T>
inline void add_distance_scores(const AttentionTask<T>& task,
                                const Block& block,
                                int64_t i,
                                float* row) {
  const auto& distances = task.distances;
  if (distances.rows == nullptr) {
    return;
  }
  const float factor = task.scale * kLog2E;
  const auto* const rows = distances.rows + bias_offset(task, block, i);
  if (distances.query != nullptr) {
    const T* const scores = distances.query + (block.row + i) * distances.stride;
    for (int64_t j = 0; j < block.columns; ++j) {
      row[j] += factor * widen(scores[rows[j]]);
    }
  }
  if (distances.key != nullptr) {
    const T* const scores = distances.key + block.column * distances.stride;
    for (int64_t j = 0; j < block.columns; ++j) {
      row[j] += factor * widen(scores[j * distances.stride + rows[j]]);
    }
  }
}

// Adds the gradients of such a row of scores to those of the distances.
template <class T>
inline void add_distance_gradients(const AttentionTask<T>& task,
                                   const Block& block,
                                   int64_t i,
                                   const float* dscores) {
  const auto& distances = task.distances;
  const auto* const rows = distances.rows + bias_offset(task, block, i);
  if (distances.dquery != nullptr) {
    float* const gradients = distances.dquery + (block.row + i) * distances.stride;
    for (int64_t j = 0; j < block.columns; ++j) {
      gradients[rows[j]] += dscores[j];
    }
  }
  if (distances.dkey != nullptr) {
    float* const gradients = distances.dkey + block.column * distances.stride;
    for (int64_t j = 0; j < block.columns; ++j) {
      gradients[j * distances.stride + rows[j]] += dscores[j];
    }
  }
}

// Samples the keep bits of the block's weights: rows of `tile / 16` groups.
template <class T, class Term>
inline void sample_dropout_bits(const AttentionTask<T>& task,
                                const Block& block,
                                const Workspace<Term>& w) {
  if (task.dropout_rng.threshold == 0) {
    return;
  }
  const int64_t all = round_up_16(task.keys) / 16;
  const int64_t groups = w.tile / 16;
  if (all == groups && task.window_radius >= task.keys) {
    keep_bits(task.dropout_rng, block.row * all, block.rows * all, w.bits);
    return;
  }
  for (int64_t i = 0; i < block.rows; ++i) {
    keep_bits(task.dropout_rng, (block.row + i) * all + block.column / 16,
              round_up_16(block.columns) / 16, w.bits + i * groups);
  }
}

// out = factor * queries (or output gradients) times the keys or values in `columns`.
template <class Term>
inline void multiply_block(const Block& block,
                           const Workspace<Term>& w,
                           const Term* rows,
                           const Term* columns,
                           float* out,
                           float factor) {
  const int64_t tile = block.column / kKeyTile;
  multiply<Term>({.rows = block.rows,
                  .columns = round_up_16(block.columns),
                  .depth = w.depth(),
                  .a = rows + block.row * w.depth(),
                  .a_row = w.depth(),
                  .a_depth = 1,
                  .b = columns + tile * w.stride * w.depth() + block.column % kKeyTile,
                  .b_stride = w.stride,
                  .c = out,
                  .c_stride = w.stride,
                  .factor = factor});
}

template <class T, class Term>
inline void score_block(const AttentionTask<T>& task,
                        const Block& block,
                        const Workspace<Term>& w) {
  multiply_block<Term>(block, w, w.q.left, w.k_columns, w.scores, task.scale * kLog2E);
}

template <class T, class Term>
inline void pack_keys(const AttentionTask<T>& task, const Workspace<Term>& w, bool wants_values) {
  const StridedRows<const T> keys{task.k, task.kv_stride, task.keys, task.width};
  const StridedRows<const T> values{task.v, task.kv_stride, task.keys, task.width};
  pack_operands<T>({keys, task.rotary_width, task.rotary}, w.k);
  pack_operands<T>({values}, w.v);
  for (int64_t column = 0; column < task.keys; column += kKeyTile) {
    const int64_t rows = smaller(task.keys - column, kKeyTile);
    const int64_t from = column * w.depth();
    const int64_t to = column / kKeyTile * w.stride * w.depth();
    pack_transposed(w.k.left + from, rows, w.depth(), w.k_columns + to, w.stride);
    if (wants_values) {
      pack_transposed(w.v.left + from, rows, w.depth(), w.v_columns + to, w.stride);
    }
  }
}

template <class T>
inline const float* query_angles(const AttentionTask<T>& task) {
  return task.rotary == nullptr ? nullptr : task.rotary + task.first * task.rotary_width;
}

template <class T, class Term>
inline void pack_queries(const AttentionTask<T>& task, const Workspace<Term>& w) {
  const StridedRows<const T> queries{task.q, task.q_stride, task.queries, task.width};
  pack_operands<T>({queries, task.rotary_width, query_angles(task)}, w.q);
}

inline void fill(float* p, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i) {
    p[i] = value;
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
