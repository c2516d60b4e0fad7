// The newest tokens of sequences whose keys and values are kept. Included by the level's unit only.
#pragma once

#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// A few new queries at the end of many keys, as decoding has them: keys and values are read where
// they lie, once, for copying them would cost more than the arithmetic.
template <class T>
inline bool is_step(const AttentionTask<T>& task) {
  constexpr int64_t kMost = 4;
  return task.queries <= kMost && task.queries < task.keys && task.rotary == nullptr &&
         task.draws.threshold == 0;
}

template <class T>
inline float product_of(const T* key, const float* query, int64_t width) {
  Vec total = zero();
  for_each_vector(width, [&](int64_t c, int count) {
    total = fma(load_up_to(key + c, count), load_up_to(query + c, count), total);
  });
  return sum(total);
}

template <class T>
inline void step_query(const AttentionTask<T>& task, const Workspace& w, int64_t i) {
  const int64_t place = task.first + i;
  const int64_t begin = larger(0, place - task.reach);
  const int64_t end = last_key(task, i, 1);
  float* const scores = w.k;  // (keys), for nothing is packed here
  float highest = -__FLT_MAX__;
  for (int64_t j = begin; j < end; ++j) {
    scores[j] = product_of(task.k + j * task.kv_stride, w.q + i * w.width, task.width) +
                (task.bias == nullptr ? 0.0F : task.bias[j - place]);
    highest = scores[j] > highest ? scores[j] : highest;
  }
  float* const values = w.gradient;
  fill(values, w.width, 0.0F);
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
  for (int64_t j = begin; j < end; ++j) {
    const Vec weight = set(scores[j]);
    const T* const value = task.v + j * task.kv_stride;
    for_each_vector(task.width, [&](int64_t c, int count) {
      store(values + c, fma(weight, load_up_to(value + c, count), load(values + c)));
    });
  }
  const float total = sum(all);
  unpack<T>(values, task.draws.scale / total,
            {task.out + i * task.out_stride, task.out_stride, 1, task.width});
  task.lse[i] = highest + __builtin_log2f(total);
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
