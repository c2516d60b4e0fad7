// Softmax attention of one head of one sequence, in fp32, a block of queries at a time and over
// tiles of keys with a running softmax (arXiv:2205.14135), so that memory grows with the length,
// not its square. Included by the level's unit only.
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
  float* scores;
  int64_t padded;
  const uint16_t* bits;
  float* maximum;
  float* total;
  float* values;
  int64_t width;
};

// The scores become 2^(score - maximum), without those dropped; what was there of total and values
// is scaled to the new maximum.
template <bool kDrops>
inline void weigh_row(const Row row) {
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
      store(row.scores + j, keep(e, bits_at(row.bits, j)));
    } else {
      store(row.scores + j, e);
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

template <class T>
inline void forward_block(const AttentionTask<T>& task, const Workspace& w, const Block& block) {
  Product product = scores_of(block, w, w.q, w.k_columns);
  product.c = w.scores;
  multiply(product);
  draw_block(task, block, w);
  for (int64_t i = 0; i < block.rows; ++i) {
    float* const scores = w.scores + i * w.stride;
    add_bias(task, block, i, scores);
    const Row row{.scores = scores,
                  .padded = mask_row(task, block, i, scores),
                  .bits = w.bits + i * (w.tile / 16),
                  .maximum = w.dot + block.row + i,
                  .total = w.total + block.row + i,
                  .values = w.gradient + i * w.width,
                  .width = w.width};
    if (task.draws.threshold != 0) {
      weigh_row<true>(row);
    } else {
      weigh_row<false>(row);
    }
  }
  multiply({.rows = block.rows,
            .columns = w.width,
            .depth = block.columns,
            .a = w.scores,
            .a_row = w.stride,
            .a_depth = 1,
            .b = w.v + block.column * w.width,
            .b_stride = w.width,
            .c = w.gradient,
            .c_stride = w.width,
            .adds = true});
}

// Calls body(row, rows) for blocks of queries of even height.
template <class Body>
inline void for_each_query_block(int64_t queries, Body body) {
  const int64_t blocks = (queries + kQueryBlock - 1) / kQueryBlock;
  int64_t row = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t rows = queries / blocks + (b < queries % blocks ? 1 : 0);
    body(row, rows);
    row += rows;
  }
}

template <class T>
void attention_forward(const AttentionTask<T>& task) {
  const Workspace w = carve(task);
  if (is_step(task)) {
    pack_queries(task, w);
    step_queries(task, w);
    return;
  }
  pack_queries(task, w);
  pack_keys(task, w, false);
  // Finite, for a query may see no key of the first block: exp2(-inf - maximum) must be 0.
  fill(w.dot, task.queries, -__FLT_MAX__);
  fill(w.total, task.queries, 0.0F);
  for_each_query_block(task.queries, [&](int64_t row, int64_t rows) {
    fill(w.gradient, rows * w.width, 0.0F);
    const int64_t first = larger(0, task.first + row - task.reach) / kKeyTile * kKeyTile;
    for (int64_t column = first; column < last_key(task, row, rows); column += kKeyTile) {
      forward_block(task, w, block_of(task, row, rows, column));
    }
    for (int64_t i = 0; i < rows; ++i) {
      const float total = w.total[row + i];
      unpack<T>(w.gradient + i * w.width, task.draws.scale / total,
                {task.out + (row + i) * task.out_stride, task.out_stride, 1, task.width});
      task.lse[row + i] = w.dot[row + i] + __builtin_log2f(total);
    }
  });
}

// The same row on the way back.
struct SlopeRow {
  float* scores;
  float* slopes;
  int64_t padded;
  const uint16_t* bits;
  float lse;
  float dot;
};

// Scores become the kept weights, slopes the gradient of the scores: p (keep(slope) - dot).
template <bool kDrops>
inline void slope_row(const SlopeRow row) {
  for (int64_t j = 0; j < row.padded; j += kLanes) {
    const Vec p = exp2(load(row.scores + j) - set(row.lse));
    Vec slope = load(row.slopes + j);
    Vec kept = p;
    if constexpr (kDrops) {
      slope = keep(slope, bits_at(row.bits, j));
      kept = keep(p, bits_at(row.bits, j));
    }
    store(row.scores + j, kept);
    store(row.slopes + j, p * (slope - set(row.dot)));
  }
}

template <class T>
inline void slope_block(const AttentionTask<T>& task, const Workspace& w, const Block& block) {
  Product product = scores_of(block, w, w.q, w.k_columns);
  product.c = w.scores;
  multiply(product);
  product = scores_of(block, w, w.gradient, w.v_columns);
  product.c = w.slopes;
  multiply(product);
  draw_block(task, block, w);
  for (int64_t i = 0; i < block.rows; ++i) {
    float* const scores = w.scores + i * w.stride;
    add_bias(task, block, i, scores);
    const SlopeRow row{.scores = scores,
                       .slopes = w.slopes + i * w.stride,
                       .padded = mask_row(task, block, i, scores),
                       .bits = w.bits + i * (w.tile / 16),
                       .lse = task.lse[block.row + i],
                       .dot = w.dot[block.row + i]};
    if (task.draws.threshold != 0) {
      slope_row<true>(row);
    } else {
      slope_row<false>(row);
    }
    if (task.dbias != nullptr) {
      float* const sums = task.dbias + bias_place(task, block, i);
      for (int64_t j = 0; j < row.padded; j += kLanes) {
        store(sums + j, load(sums + j) + load(row.slopes + j));
      }
    }
  }
}

// Adds weights^T (rows, columns) times what belongs to the queries to what belongs to the keys of
// the tile.
inline void add_to_keys(const Block& block,
                        const Workspace& w,
                        const float* weights,
                        const float* queries,
                        float* keys) {
  multiply({.rows = block.columns,
            .columns = w.width,
            .depth = block.rows,
            .a = weights,
            .a_row = 1,
            .a_depth = w.stride,
            .b = queries + block.row * w.width,
            .b_stride = w.width,
            .c = keys + block.column % kKeyTile * w.width,
            .c_stride = w.width,
            .adds = true});
}

inline void add_to_queries(const Block& block, const Workspace& w) {
  multiply({.rows = block.rows,
            .columns = w.width,
            .depth = block.columns,
            .a = w.slopes,
            .a_row = w.stride,
            .a_depth = 1,
            .b = w.k + block.column * w.width,
            .b_stride = w.width,
            .c = w.dq + block.row * w.width,
            .c_stride = w.width,
            .adds = true});
}

template <class T>
inline void pack_gradient(const AttentionTask<T>& task, const Workspace& w) {
  pack<T>({task.gradient, task.out_stride, task.queries, task.width}, task.draws.scale, w.gradient);
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

template <class T>
inline KeySums sums_of(const AttentionTask<T>& task, const Workspace& w, int64_t column) {
  if (task.shared == nullptr) {
    return {w.dk, w.dv};
  }
  float* const dk = task.shared + column * w.width;
  return {dk, dk + round_up_16(task.keys) * w.width};
}

template <class T>
void attention_backward(const AttentionTask<T>& task) {
  const Workspace w = carve(task);
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
      add_to_keys(block, w, w.scores, w.gradient, sums.dv);
      add_to_keys(block, w, w.slopes, w.q, sums.dk);
      add_to_queries(block, w);
    });
    if (task.shared != nullptr && !task.is_last) {
      continue;
    }
    const auto* const angles =
        task.rotary == nullptr ? nullptr : task.rotary + column * task.rotary_width;
    turn<true>({sums.dk, keys, w.width, task.rotary_width, angles});
    unpack<T>(sums.dk, kLn2,
              {task.dk + column * task.dkv_stride, task.dkv_stride, keys, task.width});
    unpack<T>(sums.dv, 1.0F,
              {task.dv + column * task.dkv_stride, task.dkv_stride, keys, task.width});
  }
  turn<true>({w.dq, task.queries, w.width, task.rotary_width, query_angles(task)});
  unpack<T>(w.dq, task.scale, {task.dq, task.dq_stride, task.queries, task.width});
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
