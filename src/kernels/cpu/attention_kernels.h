// Softmax attention of one head of one sequence, a block of queries at a time and over tiles of
// keys with a running softmax (arXiv:2205.14135), so that memory grows with the length, not its
// square. In fp32; but in bf16, where the processor multiplies pairs of it, products take bf16:
// weights and slopes are rounded to it, as flash attention does (arXiv:2307.08691); sums stay in
// fp32. Included by the level's unit only.
#pragma once

#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/attention_step.h"
#include "kernels/cpu/attention_workspace.h"
#include "kernels/cpu/dropout_kernels.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/rotary_kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// One query's row of a block: its scores, its sum of values so far, and the softmax that runs over
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

// The weights are 2^(score - maximum), without those dropped, and may take the place of the scores;
// what was there of total and values is scaled to the new maximum.
template <bool kDrops, class T>
inline void weigh_row(const Row& row, T* weights) {
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
  draw_block(task, block, w);
  for (int64_t i = 0; i < block.rows; ++i) {
    float* const scores = w.scores + i * w.stride;
    add_bias(task, block, i, scores);
    mask_row(task, block, i, scores);
    const Row row{.scores = scores,
                  .padded = round_up_16(block.columns),
                  .bits = w.bits + i * (w.tile / 16),
                  .maximum = w.dot + block.row + i,
                  .total = w.total + block.row + i,
                  .values = w.values + i * w.width,
                  .width = w.width};
    auto* const weights = reinterpret_cast<Element<Term>*>(scores);
    if (task.draws.threshold != 0) {
      weigh_row<true>(row, weights);
    } else {
      weigh_row<false>(row, weights);
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

// Calls body(row, rows) for blocks of queries, nearly as high as each other, of which each begins a
// pair of rows.
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
  const auto w = carve<Term>(task);
  pack_queries(task, w);
  pack_keys(task, w, false);
  // Finite, for a query may see no key of the first block: exp2(-inf - maximum) must be 0.
  fill(w.dot, task.queries, -__FLT_MAX__);
  fill(w.total, task.queries, 0.0F);
  for_each_query_block(task.queries, [&](int64_t row, int64_t rows) {
    fill(w.values, rows * w.width, 0.0F);
    const int64_t first = larger(0, task.first + row - task.reach) / kKeyTile * kKeyTile;
    for (int64_t column = first; column < last_key(task, row, rows); column += kKeyTile) {
      forward_block(task, w, block_of(task, row, rows, column));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const float total = w.total[row + i];
      unpack<T>(w.values + i * w.width, task.draws.scale / total,
                {task.out + (row + i) * task.out_stride, task.out_stride, 1, task.width});
      task.lse[row + i] = w.dot[row + i] + __builtin_log2f(total);
    }
  });
}

// Do the products of these heads take pairs? Their rows must be whole vectors of them.
template <class T>
inline constexpr bool kMayTakePairs = false;
template <>
inline constexpr bool kMayTakePairs<Bf16> = kMultipliesPairs;

// Calls body(term) with a term of the kind that the products of heads of this width are made of.
template <class T, class Body>
inline void with_term(int64_t width, Body body) {
  if constexpr (kMayTakePairs<T>) {
    if (width % (2 * kLanes) == 0) {
      return body(Pair{});
    }
  }
  body(float{});
}

template <class T>
void attention_forward(const AttentionTask<T>& task) {
  if (is_step(task)) {
    return step_queries(task);
  }
  with_term<T>(task.width, [&](auto term) { attend<decltype(term)>(task); });
}

// The same row on the way back.
struct SlopeRow {
  const float* scores;
  const float* slopes;
  const uint16_t* bits;
  float lse;
  float dot;
  float* dbias;  // or null
};

// What the rows of one term become: kept weights p, and the gradient of the scores,
// p (keep(slope) - dot). The depth of both are the queries, that of `slope_rows` the keys. They may
// take the place of scores and slopes.
template <class Term>
struct SlopeTerms {
  Term* weights;
  Term* slopes;
  Element<Term>* slope_rows[kDepth<Term>];
};

template <bool kDrops, class Term>
inline void slope_row(const SlopeRow (&rows)[kDepth<Term>],
                      int64_t padded,
                      const SlopeTerms<Term>& out) {
  for (int64_t j = 0; j < padded; j += kLanes) {
    Vec kept[kDepth<Term>];
    Vec slopes[kDepth<Term>];
    for (int64_t r = 0; r < kDepth<Term>; ++r) {
      const SlopeRow& row = rows[r];
      const Vec p = exp2(load(row.scores + j) - set(row.lse));
      Vec slope = load(row.slopes + j);
      kept[r] = p;
      if constexpr (kDrops) {
        slope = keep(slope, bits_at(row.bits, j));
        kept[r] = keep(p, bits_at(row.bits, j));
      }
      slopes[r] = p * (slope - set(row.dot));
      if (row.dbias != nullptr) {
        store(row.dbias + j, load(row.dbias + j) + slopes[r]);
      }
    }
    if constexpr (kDepth<Term> == 1) {
      store(out.weights + j, kept[0]);
      store(out.slopes + j, slopes[0]);
    } else {
      store(out.weights + j, kept[0], kept[1]);
      store(out.slopes + j, slopes[0], slopes[1]);
      store(out.slope_rows[0] + j, slopes[0]);
      store(out.slope_rows[1] + j, slopes[1]);
    }
  }
}

template <class Term, class T>
inline SlopeRow slope_row_of(const AttentionTask<T>& task,
                             const Workspace<Term>& w,
                             const Block& block,
                             int64_t i) {
  float* const scores = w.scores + i * w.stride;
  float* const slopes = w.slopes + i * w.stride;
  const auto* const bits = w.bits + i * (w.tile / 16);
  if (i >= block.rows) {  // what the last row is paired with: weights and slopes of 0
    fill(scores, round_up_16(block.columns), -__builtin_inff());
    fill(slopes, round_up_16(block.columns), 0.0F);
    return {scores, slopes, bits, 0, 0, nullptr};
  }
  add_bias(task, block, i, scores);
  mask_row(task, block, i, scores);
  return {scores,
          slopes,
          bits,
          task.lse[block.row + i],
          w.dot[block.row + i],
          task.dbias == nullptr ? nullptr : task.dbias + bias_place(task, block, i)};
}

template <class Term, class T>
inline void slope_block(const AttentionTask<T>& task,
                        const Workspace<Term>& w,
                        const Block& block) {
  score_block(task, block, w);
  multiply_block<Term>(block, w, w.gradient.left, w.v_columns, w.slopes, task.draws.scale);
  draw_block(task, block, w);
  for (int64_t i = 0; i < block.rows; i += kDepth<Term>) {
    SlopeRow rows[kDepth<Term>];
    SlopeTerms<Term> out{.weights = reinterpret_cast<Term*>(w.scores + i * w.stride),
                         .slopes = reinterpret_cast<Term*>(w.slopes + i * w.stride),
                         .slope_rows = {}};
    for (int64_t r = 0; r < kDepth<Term>; ++r) {
      rows[r] = slope_row_of(task, w, block, i + r);
      out.slope_rows[r] = reinterpret_cast<Element<Term>*>(w.slope_rows) + (i + r) * w.stride;
    }
    if (task.draws.threshold != 0) {
      slope_row<true, Term>(rows, round_up_16(block.columns), out);
    } else {
      slope_row<false, Term>(rows, round_up_16(block.columns), out);
    }
  }
}

// Adds weights^T (rows, columns) times what belongs to the queries to what belongs to the keys of
// the tile.
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
                  .a = w.slope_rows,
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
  pack_sides<T>({{task.gradient, task.out_stride, task.queries, task.width}}, w.gradient);
  for (int64_t i = 0; i < task.queries; ++i) {
    Vec dot = zero();
    for_each_vector(task.width, [&](int64_t c, int count) {
      dot = fma(load_up_to(task.gradient + i * task.out_stride + c, count),
                load_up_to(task.out + i * task.out_stride + c, count), dot);
    });
    w.dot[i] = sum(dot);
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
inline void attend_back(const AttentionTask<T>& task) {
  const auto w = carve<Term>(task);
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
      slope_block(task, w, block);
      add_to_keys<Term>(block, w, w.scores, w.gradient.right, sums.dv);
      add_to_keys<Term>(block, w, w.slopes, w.q.right, sums.dk);
      add_to_queries(block, w);
    });
    if (task.shared != nullptr && !task.is_last) {
      continue;
    }
    const auto* const angles =
        task.rotary == nullptr ? nullptr : task.rotary + column * task.rotary_width;
    turn<true>({sums.dk, keys, w.width, task.rotary_width, angles});
    unpack<T>(sums.dk, task.scale,
              {task.dk + column * task.dkv_stride, task.dkv_stride, keys, task.width});
    unpack<T>(sums.dv, task.draws.scale,
              {task.dv + column * task.dkv_stride, task.dkv_stride, keys, task.width});
  }
  turn<true>({w.dq, task.queries, w.width, task.rotary_width, query_angles(task)});
  unpack<T>(w.dq, task.scale, {task.dq, task.dq_stride, task.queries, task.width});
}

template <class T>
void attention_backward(const AttentionTask<T>& task) {
  with_term<T>(task.width, [&](auto term) { attend_back<decltype(term)>(task); });
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
