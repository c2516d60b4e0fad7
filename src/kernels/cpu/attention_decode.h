// Attention of the newest tokens over a KV cache. Included only by per-level translation units.
#pragma once

#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// A few new queries at the end of many keys, as in decoding: keys and values are read in place,
// once, since copying them would cost more than the arithmetic.
template <class T>
inline bool is_decode_step(const AttentionTask<T>& task) {
  constexpr int64_t kMax = 4;
  return task.queries <= kMax && task.queries < task.keys && task.rotary == nullptr &&
         task.mask == nullptr && task.distances.rows == nullptr && task.dropout_rng.threshold == 0;
}

/// Keys or values of a head, for the tokens from `begin` to `end`.
template <class T>
struct CachedRows {
  const T* first;
  int64_t stride;
  int64_t begin;
  int64_t end;
};

/// Calls `body` for blocks of columns that fit registers, with their number of vectors, their first
/// column and the elements of each vector: all lanes, except in the last one of a row.
template <class Body>
inline void for_each_column_block(int64_t width, Body body) {
  constexpr int64_t kWide = 64;  // width of most heads
  constexpr int64_t kNarrow = 32;
  int64_t column = 0;
  for (; column + kWide <= width; column += kWide) {
    body.template operator()<kWide / kLanes>(column, kLanes);
  }
  if (column + kNarrow <= width) {
    body.template operator()<kNarrow / kLanes>(column, kLanes);
    column += kNarrow;
  }
  for (; column < width; column += kLanes) {
    body.template operator()<1>(column, static_cast<int>(smaller(kLanes, width - column)));
  }
}

/// Adds the products of the query with the first kVectors vectors of the keys.
template <int kVectors, class T>
inline void add_products(const CachedRows<T>& keys, int count, const float* query, float* scores) {
  Vec q[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    q[v] = load_up_to(query + v * kLanes, count);
  }
  for (int64_t j = keys.begin; j < keys.end; ++j) {
    const T* const key = keys.first + j * keys.stride;
    Vec total = zero();
    for (int v = 0; v < kVectors; ++v) {
      total = fma(load_up_to(key + v * kLanes, count), q[v], total);
    }
    scores[j] += sum(total);
  }
}

/// Sum of the first kVectors vectors of the values, weighted.
template <int kVectors, class T>
inline void mix_values(const CachedRows<T>& values, int count, const float* weights, float* mixed) {
  Vec total[kVectors] = {};
  for (int64_t j = values.begin; j < values.end; ++j) {
    const T* const value = values.first + j * values.stride;
    const Vec weight = set(weights[j]);
    for (int v = 0; v < kVectors; ++v) {
      total[v] = fma(weight, load_up_to(value + v * kLanes, count), total[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    store(mixed + v * kLanes, total[v]);
  }
}

template <class T>
inline void decode_query(const AttentionTask<T>& task, const Workspace<float>& w, int64_t i) {
  const int64_t position = task.first + i;
  const int64_t begin = larger(0, position - task.window_radius);
  const int64_t end = key_end(task, i, 1);
  const int64_t first_vector = begin / 16 * 16;
  float* const scores = w.k.left;  // (keys), free because nothing is packed here
  for (int64_t j = first_vector; j < round_up_16(end); ++j) {
    const bool is_seen = j >= begin && j < end;
    scores[j] = !is_seen               ? -__builtin_inff()
                : task.bias == nullptr ? 0.0F
                                       : task.bias[j - position];
  }
  for_each_column_block(task.width, [&]<int kVectors>(int64_t column, int count) {
    add_products<kVectors, T>({task.k + column, task.kv_stride, begin, end}, count,
                              w.q.left + i * w.width + column, scores);
  });
  Vec top = set(-__FLT_MAX__);
  for (int64_t j = first_vector; j < round_up_16(end); j += kLanes) {
    top = maximum(top, load(scores + j));
  }
  const float highest = largest(top);
  Vec all = zero();
  for (int64_t j = first_vector; j < round_up_16(end); j += kLanes) {
    const Vec e = exp2(load(scores + j) - set(highest));
    store(scores + j, e);
    all = all + e;
  }
  for_each_column_block(task.width, [&]<int kVectors>(int64_t column, int count) {
    mix_values<kVectors, T>({task.v + column, task.kv_stride, begin, end}, count, scores,
                            w.values + column);
  });
  const float total = sum(all);
  unpack<T>(w.values, task.dropout_rng.scale / total,
            {task.out + i * task.out_stride, task.out_stride, 1, task.width});
  task.lse[i] = highest + __builtin_log2f(total);
}

template <class T>
inline void decode_queries(const AttentionTask<T>& task) {
  const auto w = allocate_workspace<float>(task);
  pack<T>({task.q, task.q_stride, task.queries, task.width}, task.scale * kLog2E, w.q.left);
  for (int64_t i = 0; i < task.queries; ++i) {
    decode_query(task, w, i);
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
