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

/// Row of a head: kVectors whole vectors, kept in registers; 0: any width.
template <int kVectors>
struct HeadRow {
  Vec vectors[kVectors];

  static HeadRow of(const float* x, int64_t /*width*/) {
    HeadRow row;
    for (int v = 0; v < kVectors; ++v) {
      row.vectors[v] = load(x + v * kLanes);
    }
    return row;
  }
  template <class T>
  float product_with(const T* x) const {
    Vec total = zero();
    for (int v = 0; v < kVectors; ++v) {
      total = fma(load(x + v * kLanes), vectors[v], total);
    }
    return sum(total);
  }
  template <class T>
  void add(Vec weight, const T* x) {
    for (int v = 0; v < kVectors; ++v) {
      vectors[v] = fma(weight, load(x + v * kLanes), vectors[v]);
    }
  }
  void store_to(float* out) const {
    for (int v = 0; v < kVectors; ++v) {
      store(out + v * kLanes, vectors[v]);
    }
  }
};

template <>
struct HeadRow<0> {
  float* values;
  int64_t width;

  static HeadRow of(float* x, int64_t width) { return {x, width}; }
  template <class T>
  float product_with(const T* x) const {
    Vec total = zero();
    for_each_vector(width, [&](int64_t c, int count) {
      total = fma(load_up_to(x + c, count), load_up_to(values + c, count), total);
    });
    return sum(total);
  }
  template <class T>
  void add(Vec weight, const T* x) {
    for_each_vector(width, [&](int64_t c, int count) {
      store(values + c, fma(weight, load_up_to(x + c, count), load(values + c)));
    });
  }
  void store_to(float* /*out*/) const {}
};

template <int kVectors, class T>
inline void decode_query(const AttentionTask<T>& task, const Workspace<float>& w, int64_t i) {
  const int64_t position = task.first + i;
  const int64_t begin = larger(0, position - task.window_radius);
  const int64_t end = key_end(task, i, 1);
  float* const scores = w.k.left;  // (keys), free because nothing is packed here
  float highest = -__FLT_MAX__;
  const auto query = HeadRow<kVectors>::of(w.q.left + i * w.width, task.width);
  for (int64_t j = begin; j < end; ++j) {
    scores[j] = query.product_with(task.k + j * task.kv_stride) +
                (task.bias == nullptr ? 0.0F : task.bias[j - position]);
    highest = scores[j] > highest ? scores[j] : highest;
  }
  for (int64_t j = end; j < round_up_16(end); ++j) {
    scores[j] = -__builtin_inff();
  }
  Vec all = zero();
  for (int64_t j = begin / 16 * 16; j < round_up_16(end); j += kLanes) {
    for (int64_t before = j; before < begin && before < j + kLanes; ++before) {
      scores[before] = -__builtin_inff();
    }
    const Vec e = exp2(load(scores + j) - set(highest));
    store(scores + j, e);
    all = all + e;
  }
  float* const values = w.values;
  fill(values, w.width, 0.0F);
  auto mixed = HeadRow<kVectors>::of(values, task.width);
  for (int64_t j = begin; j < end; ++j) {
    mixed.add(set(scores[j]), task.v + j * task.kv_stride);
  }
  mixed.store_to(values);
  const float total = sum(all);
  unpack<T>(values, task.dropout_rng.scale / total,
            {task.out + i * task.out_stride, task.out_stride, 1, task.width});
  task.lse[i] = highest + __builtin_log2f(total);
}

template <class T>
inline void decode_queries(const AttentionTask<T>& task) {
  const auto w = allocate_workspace<float>(task);
  pack<T>({task.q, task.q_stride, task.queries, task.width}, task.scale * kLog2E, w.q.left);
  constexpr int64_t kCommonWidth = 64;  // width of most heads
  for (int64_t i = 0; i < task.queries; ++i) {
    if (task.width == kCommonWidth) {
      decode_query<kCommonWidth / kLanes>(task, w, i);
    } else {
      decode_query<0>(task, w, i);
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
