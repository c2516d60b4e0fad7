// Softmax attention of one head of one sequence, in blocks of queries and tiles of keys with an
// online softmax (arXiv:2205.14135), so that memory grows linearly with the length. Computes in
// fp32; for bf16, on processors that multiply bf16 pairs, products take bf16 inputs: weights and
// dscores are rounded to bf16, as in flash attention (arXiv:2307.08691), and sums stay in fp32.
// Included only by per-level translation units.
#pragma once

#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/attention_decode.h"
#include "kernels/cpu/attention_workspace.h"
#include "kernels/cpu/dropout_kernels.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/rotary_kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// One query's row of a block: its scores, its accumulated values, and the online softmax state over
// the tiles of keys.
struct Row {
  const float* scores;
  int64_t padded;
  const uint16_t* bits;
  float* maximum;
  float* total;
  float* values;
  int64_t width;
};

// Computes the weights 2^(score - maximum), zero where dropped; they may overwrite the scores. The
// previous total and values are rescaled to the new maximum.
template <bool kDrops, class T>
inline void softmax_row(const Row& row, T* weights) {
  Vec top = set(*row.maximum);
  for (int64_t j = 0; j < row.padded; j += kLanes) {
    top = maximum(top, load(row.scores + j));
  }
  const float highest = largest(top);
  top = set(highest);
  Vec total = zero();
  for (int64_t j = 0; j < row.padded; j += kLanes) {
    const Vec e = exp2(load(row.scores + j) - top);
    total = total + e;
    if constexpr (kDrops) {
      store(weights + j, keep(e, bits_at(row.bits, j)));
    } else {
      store(weights + j, e);
    }
  }
  if (highest != *row.maximum) {
    const Vec shrink = exp2(set(*row.maximum) - top);
    for (int64_t c = 0; c < row.width; c += kLanes) {
      store(row.values + c, load(row.values + c) * shrink);
    }
    *row.total *= largest(shrink);
  }
  *row.total += sum(total);
  *row.maximum = highest;
}

template <class Term, class T>
inline void forward_block(const AttentionTask<T>& task,
                          const Workspace<Term>& w,
                          const Block& block) {
  score_block(task, block, w);
  sample_dropout_bits(task, block, w);
  for (int64_t i = 0; i < block.rows; ++i) {
    float* const scores = w.scores + i * w.stride;
    add_bias(task, block, i, scores);
    add_distance_scores(task, block, i, scores);
    mask_row(task, block, i, scores);
    const Row row{.scores = scores,
                  .padded = round_up_16(block.columns),
                  .bits = w.bits + i * (w.tile / 16),
                  .maximum = w.dot + block.row + i,
                  .total = w.total + block.row + i,
                  .values = w.values + i * w.width,
                  .width = w.width};
    auto* const weights = reinterpret_cast<Element<Term>*>(scores);
    if (task.dropout_rng.threshold != 0) {
      softmax_row<true>(row, weights);
    } else {
      softmax_row<false>(row, weights);
    }
  }
  multiply<Term>({.rows = block.rows,
                  .columns = w.width,
                  .depth = terms_of<Term>(block.columns),
                  .a = reinterpret_cast<const Term*>(w.scores),
                  .a_row = w.stride,
                  .a_depth = 1,
                  .b = w.v.right + block.column / kDepth<Term> * w.width,
                  .b_stride = w.width,
                  .c = w.values,
                  .c_stride = w.width,
                  .adds = true});
}

// Calls body(row, rows) for query blocks of nearly equal height; every block starts at an even row,
// so that row pairs are not split.
template <class Body>
inline void for_each_query_block(int64_t queries, Body body) {
  const int64_t blocks = (queries + kQueryBlock - 1) / kQueryBlock;
  int64_t row = 0;
  for (int64_t b = 1; b <= blocks; ++b) {
    const int64_t end = smaller(queries, (queries * b / blocks + 1) / 2 * 2);
    body(row, end - row);
    row = end;
  }
}

template <class Term, class T>
inline void attend(const AttentionTask<T>& task) {
  const auto w = allocate_workspace<Term>(task);
  pack_queries(task, w);
  pack_keys(task, w, false);
  // Finite, since a query may see no key of the first block: exp2(-inf - maximum) must be 0.
  fill(w.dot, task.queries, -__FLT_MAX__);
  fill(w.total, task.queries, 0.0F);
  for_each_query_block(task.queries, [&](int64_t row, int64_t rows) {
    fill(w.values, rows * w.width, 0.0F);
    const int64_t first = larger(0, task.first + row - task.window_radius) / kKeyTile * kKeyTile;
    for (int64_t column = first; column < key_end(task, row, rows); column += kKeyTile) {
      forward_block(task, w, block_of(task, row, rows, column));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const float total = w.total[row + i];
      unpack<T>(w.values + i * w.width, task.dropout_rng.scale / total,
                {task.out + (row + i) * task.out_stride, task.out_stride, 1, task.width});
      task.lse[row + i] = w.dot[row + i] + __builtin_log2f(total);
    }
  });
}

// Whether the products of these heads use bf16 pairs. Their rows must be whole vectors of pairs.
template <class T>
inline constexpr bool kCanUsePairs = false;
template <>
inline constexpr bool kCanUsePairs<Bf16> = kMultipliesPairs;

// Calls body(term) with the term type used by the products of heads of this width.
template <class T, class Body>
inline void dispatch_term(int64_t width, Body body) {
  if constexpr (kCanUsePairs<T>) {
    if (width % (2 * kLanes) == 0) {
      return body(Pair{});
    }
  }
  body(float{});
}

template <class T>
void attention_forward(const AttentionTask<T>& task) {
  if (is_decode_step(task)) {
    return decode_queries(task);
  }
  dispatch_term<T>(task.width, [&](auto term) { attend<decltype(term)>(task); });
}

// The same row in the backward pass.
struct ScoreGradientRow {
  const float* scores;
  const float* dscores;
  const uint16_t* bits;
  float lse;
  float dot;
  float* dbias;  // or null
};

// dS = P * (dropout(dP) - D), as in FlashAttention-2 (arXiv:2307.08691), and the dropped-out P, for
// the rows of one term. The depth of `weights` and `dscores` is over queries, that of
// `dscores_rows` over keys. They may overwrite scores and dscores.
template <class Term>
struct ScoreGradientTerms {
  Term* weights;
  Term* dscores;
  Element<Term>* dscores_rows[kDepth<Term>];
};

template <bool kDrops, class Term>
inline void dscores_row(const ScoreGradientRow (&rows)[kDepth<Term>],
                        int64_t padded,
                        const ScoreGradientTerms<Term>& out) {
  for (int64_t j = 0; j < padded; j += kLanes) {
    Vec kept[kDepth<Term>];
    Vec dscores[kDepth<Term>];
    for (int64_t r = 0; r < kDepth<Term>; ++r) {
      const ScoreGradientRow& row = rows[r];
      const Vec p = exp2(load(row.scores + j) - set(row.lse));
      Vec dp = load(row.dscores + j);
      kept[r] = p;
      if constexpr (kDrops) {
        dp = keep(dp, bits_at(row.bits, j));
        kept[r] = keep(p, bits_at(row.bits, j));
      }
      dscores[r] = p * (dp - set(row.dot));
      if (row.dbias != nullptr) {
        store(row.dbias + j, load(row.dbias + j) + dscores[r]);
      }
    }
    if constexpr (kDepth<Term> == 1) {
      store(out.weights + j, kept[0]);
      store(out.dscores + j, dscores[0]);
    } else {
      store(out.weights + j, kept[0], kept[1]);
      store(out.dscores + j, dscores[0], dscores[1]);
      store(out.dscores_rows[0] + j, dscores[0]);
      store(out.dscores_rows[1] + j, dscores[1]);
    }
  }
}

// Where the dscores of query i are added up: by distance for a bias, or to be added to those of the
// distances; or null.
template <class Term, class T>
inline float* score_gradients_of(const AttentionTask<T>& task,
                                 const Workspace<Term>& w,
                                 const Block& block,
                                 int64_t i) {
  if (task.distances.rows != nullptr) {
    float* const row = w.distances + i % kDepth<Term> * w.tile;
    fill(row, round_up_16(block.columns), 0.0F);
    return row;
  }
  return task.dbias == nullptr ? nullptr : task.dbias + bias_offset(task, block, i);
}

template <class Term, class T>
inline ScoreGradientRow make_dscores_row(const AttentionTask<T>& task,
                                         const Workspace<Term>& w,
                                         const Block& block,
                                         int64_t i) {
  float* const scores = w.scores + i * w.stride;
  float* const dscores = w.dscores + i * w.stride;
  const auto* const bits = w.bits + i * (w.tile / 16);
  if (i >= block.rows) {  // zero weights and dscores to pair with the last row
    fill(scores, round_up_16(block.columns), -__builtin_inff());
    fill(dscores, round_up_16(block.columns), 0.0F);
    return {scores, dscores, bits, 0, 0, nullptr};
  }
  add_bias(task, block, i, scores);
  add_distance_scores(task, block, i, scores);
  mask_row(task, block, i, scores);
  return {scores,
          dscores,
          bits,
          task.lse[block.row + i],
          w.dot[block.row + i],
          score_gradients_of(task, w, block, i)};
}

template <class Term, class T>
inline void dscores_block(const AttentionTask<T>& task,
                          const Workspace<Term>& w,
                          const Block& block) {
  score_block(task, block, w);
  multiply_block<Term>(block, w, w.gradient.left, w.v_columns, w.dscores, task.dropout_rng.scale);
  sample_dropout_bits(task, block, w);
  for (int64_t i = 0; i < block.rows; i += kDepth<Term>) {
    ScoreGradientRow rows[kDepth<Term>];
    ScoreGradientTerms<Term> out{.weights = reinterpret_cast<Term*>(w.scores + i * w.stride),
                                 .dscores = reinterpret_cast<Term*>(w.dscores + i * w.stride),
                                 .dscores_rows = {}};
    for (int64_t r = 0; r < kDepth<Term>; ++r) {
      rows[r] = make_dscores_row(task, w, block, i + r);
      out.dscores_rows[r] = reinterpret_cast<Element<Term>*>(w.dscores_rows) + (i + r) * w.stride;
    }
    if (task.dropout_rng.threshold != 0) {
      dscores_row<true, Term>(rows, round_up_16(block.columns), out);
    } else {
      dscores_row<false, Term>(rows, round_up_16(block.columns), out);
    }
    for (int64_t r = 0; task.distances.rows != nullptr && r < kDepth<Term>; ++r) {
      if (i + r < block.rows) {
        add_distance_gradients(task, block, i + r, w.distances + r * w.tile);
      }
    }
  }
}

// keys += weights^T (rows, columns) times the block's rows of `queries`, for the keys of the tile.
template <class Term>
inline void add_to_keys(const Block& block,
                        const Workspace<Term>& w,
                        const float* weights,
                        const Term* queries,
                        float* keys) {
  multiply<Term>({.rows = block.columns,
                  .columns = w.width,
                  .depth = terms_of<Term>(block.rows),
                  .a = reinterpret_cast<const Term*>(weights),
                  .a_row = 1,
                  .a_depth = kDepth<Term> * w.stride,
                  .b = queries + block.row / kDepth<Term> * w.width,
                  .b_stride = w.width,
                  .c = keys + block.column % kKeyTile * w.width,
                  .c_stride = w.width,
                  .adds = true});
}

template <class Term>
inline void add_to_queries(const Block& block, const Workspace<Term>& w) {
  multiply<Term>({.rows = block.rows,
                  .columns = w.width,
                  .depth = terms_of<Term>(block.columns),
                  .a = w.dscores_rows,
                  .a_row = w.stride / kDepth<Term>,
                  .a_depth = 1,
                  .b = w.k.right + block.column / kDepth<Term> * w.width,
                  .b_stride = w.width,
                  .c = w.dq + block.row * w.width,
                  .c_stride = w.width,
                  .adds = true});
}

template <class Term, class T>
inline void pack_gradient(const AttentionTask<T>& task, const Workspace<Term>& w) {
  pack_operands<T>({{task.gradient, task.out_stride, task.queries, task.width}}, w.gradient);
  for (int64_t i = 0; i < task.queries; ++i) {
    const float dot = row_product(task.gradient + i * task.out_stride,
                                  task.out + i * task.out_stride, task.width);
    w.dot[i] = dot - (task.dlse == nullptr ? 0.0F : task.dlse[i]);
  }
}

// Gradients of the keys and values of one tile.
struct KeySums {
  float* dk;
  float* dv;
};

template <class Term, class T>
inline KeySums sums_of(const AttentionTask<T>& task, const Workspace<Term>& w, int64_t column) {
  if (task.shared == nullptr) {
    return {w.dk, w.dv};
  }
  float* const dk = task.shared + column * w.width;
  return {dk, dk + round_up_16(task.keys) * w.width};
}

template <class Term, class T>
inline void attend_backward(const AttentionTask<T>& task) {
  const auto w = allocate_workspace<Term>(task);
  pack_queries(task, w);
  pack_keys(task, w, true);
  pack_gradient(task, w);
  fill(w.dq, task.queries * w.width, 0.0F);
  for (int64_t column = 0; column < task.keys; column += kKeyTile) {
    const int64_t keys = smaller(task.keys - column, kKeyTile);
    const KeySums sums = sums_of(task, w, column);
    if (task.shared == nullptr || task.is_first) {
      fill(sums.dk, keys * w.width, 0.0F);
      fill(sums.dv, keys * w.width, 0.0F);
    }
    for_each_query_block(task.queries, [&](int64_t row, int64_t rows) {
      const Block block = block_of(task, row, rows, column);
      if (block.columns <= 0) {
        return;
      }
      dscores_block(task, w, block);
      add_to_keys<Term>(block, w, w.scores, w.gradient.right, sums.dv);
      add_to_keys<Term>(block, w, w.dscores, w.q.right, sums.dk);
      add_to_queries(block, w);
    });
    if (task.shared != nullptr && !task.is_last) {
      continue;
    }
    const auto* const angles =
        task.rotary == nullptr ? nullptr : task.rotary + column * task.rotary_width;
    apply_rotary<true>({sums.dk, keys, w.width, task.rotary_width, angles});
    unpack<T>(sums.dk, task.scale,
              {task.dk + column * task.dkv_stride, task.dkv_stride, keys, task.width});
    unpack<T>(sums.dv, task.dropout_rng.scale,
              {task.dv + column * task.dkv_stride, task.dkv_stride, keys, task.width});
  }
  apply_rotary<true>({w.dq, task.queries, w.width, task.rotary_width, query_angles(task)});
  unpack<T>(w.dq, task.scale, {task.dq, task.dq_stride, task.queries, task.width});
}

template <class T>
void attention_backward(const AttentionTask<T>& task) {
  dispatch_term<T>(task.width, [&](auto term) { attend_backward<decltype(term)>(task); });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
