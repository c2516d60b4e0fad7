// Softmax cross entropy and normalisers of whole rows of logits. Included only by per-level
// translation units.
#pragma once

#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

template <class T>
inline float biased_row(const T* logits, const T* bias, int64_t columns, float* scratch) {
  Vec top = set(-__builtin_inff());
  for_each_vector(columns, [&](int64_t column, int count) {
    Vec x = load_up_to(logits + column, count);
    if (bias != nullptr) {
      x = x + load_up_to(bias + column, count);
    }
    store_up_to(scratch + column, x, count);
    if (count == kLanes) {
      top = maximum(top, x);
    }
  });
  float result = largest(top);
  for (int64_t column = columns / kLanes * kLanes; column < columns; ++column) {
    result = scratch[column] > result ? scratch[column] : result;
  }
  return result;
}

template <class T>
inline void zero_row(T* row, int64_t columns) {
  for_each_vector(columns,
                  [&](int64_t column, int count) { store_up_to(row + column, zero(), count); });
}

template <class T>
void cross_entropy_rows(CrossEntropyRows<T> work) {
  for (int64_t row = 0; row < work.rows; ++row) {
    T* const logits = work.logits + row * work.stride;
    const int64_t target = work.targets[row];
    work.losses[row] = 0.0F;
    if (target == kIgnoredTarget) {
      if (work.wants_gradient) {
        zero_row(logits, work.columns);
      }
      continue;
    }
    float* const scratch = work.scratch;
    const Vec top = set(biased_row(logits, work.bias, work.columns, scratch));
    const float chosen = scratch[target];
    Vec total = zero();
    for_each_vector(work.columns, [&](int64_t column, int count) {
      const Vec e = exp(load_up_to(scratch + column, count) - top);
      total = total + keep(e, (1U << static_cast<unsigned>(count)) - 1U);
      store_up_to(scratch + column, e, count);
    });
    const float normalizer = sum(total);
    work.losses[row] = __builtin_logf(normalizer) + (largest(top) - chosen);
    if (work.wants_gradient) {
      const float inverse = 1.0F / normalizer;
      scratch[target] -= normalizer;
      for_each_vector(work.columns, [&](int64_t column, int count) {
        store_up_to(logits + column, load_up_to(scratch + column, count) * set(inverse), count);
      });
    }
  }
}

template <class T>
inline float largest_of_row(const T* row, int64_t columns) {
  Vec top = set(-__builtin_inff());
  float result = -__builtin_inff();
  for_each_vector(columns, [&](int64_t column, int count) {
    const Vec x = load_up_to(row + column, count);
    if (count == kLanes) {
      top = maximum(top, x);
      return;
    }
    float rest[kLanes];
    store(rest, x);
    for (int i = 0; i < count; ++i) {
      result = rest[i] > result ? rest[i] : result;
    }
  });
  return largest(top) > result ? largest(top) : result;
}

template <class T>
void log_sum_exp_rows(const T* x, int64_t rows, int64_t columns, float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    const T* const values = x + row * columns;
    const float most = largest_of_row(values, columns);
    if (most == -__builtin_inff()) {
      out[row] = most;
      continue;
    }
    const Vec top = set(most);
    Vec total = zero();
    for_each_vector(columns, [&](int64_t column, int count) {
      const Vec e = exp(load_up_to(values + column, count) - top);
      total = total + keep(e, (1U << static_cast<unsigned>(count)) - 1U);
    });
    out[row] = most + __builtin_logf(sum(total));
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
