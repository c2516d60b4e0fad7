// Softmax attention to the keys that edges name, and its gradient. Included only by per-level
// translation units.
#pragma once

#include "kernels/cpu/math.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// First edge of query i; of the one past the last the end of all edges.
template <class T>
inline int64_t first_edge(const EdgeAttention<T>& work, int64_t i) {
  return work.begins[i] - work.begins[0];
}

// Features c to c + count of the key of an edge, with the vector of its kind.
template <class T>
inline Vec edge_key(const EdgeAttention<T>& work, int64_t edge, int64_t c, int count) {
  const Vec key = load_up_to(work.k + work.keys[edge] * work.k_stride + c, count);
  return work.vectors == nullptr
             ? key
             : key + load_up_to(work.vectors + work.kinds[edge] * work.width + c, count);
}

// The product of a query and the key of an edge.
template <class T>
inline float edge_score(const EdgeAttention<T>& work, const T* q, int64_t edge) {
  Vec product = zero();
  for_each_vector(work.width, [&](int64_t c, int count) {
    product = fma(load_up_to(q + c, count), edge_key(work, edge, c, count), product);
  });
  return sum(product);
}

// exp(scores) / sum(exp(scores))
inline void softmax_in_place(float* scores, int64_t size) {
  float most = -__builtin_inff();
  for (int64_t i = 0; i < size; ++i) {
    most = scores[i] > most ? scores[i] : most;
  }
  for_each_vector(size, [&](int64_t i, int count) {
    store_up_to(scores + i, exp(load_up_to(scores + i, count) - set(most)), count);
  });
  float total = 0;
  for (int64_t i = 0; i < size; ++i) {
    total += scores[i];
  }
  for (int64_t i = 0; i < size; ++i) {
    scores[i] /= total;
  }
}

template <class T>
void edge_weights(const EdgeAttention<T>& work) {
  for (int64_t i = 0; i < work.queries; ++i) {
    const int64_t begin = first_edge(work, i);
    const int64_t end = first_edge(work, i + 1);
    for (int64_t edge = begin; edge < end; ++edge) {
      work.weights[edge] = work.scale * edge_score(work, work.q + i * work.q_stride, edge);
    }
    softmax_in_place(work.weights + begin, end - begin);
  }
}

template <class T>
void edge_values(const EdgeAttention<T>& work) {
  for (int64_t i = 0; i < work.queries; ++i) {
    for_each_vector(work.width, [&](int64_t c, int count) {
      Vec mixed = zero();
      for (int64_t edge = first_edge(work, i); edge < first_edge(work, i + 1); ++edge) {
        const T* const v = work.v + work.keys[edge] * work.v_stride + c;
        mixed = fma(set(work.dropped[edge]), load_up_to(v, count), mixed);
      }
      store_up_to(work.out + i * work.out_stride + c, mixed, count);
    });
  }
}

// to += factor * x
template <class T>
inline void add_row(float* to, float factor, const T* x, int64_t width) {
  const Vec factors = set(factor);
  for_each_vector(width, [&](int64_t c, int count) {
    store_up_to(to + c, fma(factors, load_up_to(x + c, count), load_up_to(to + c, count)), count);
  });
}

template <class T>
void edge_values_backward(const EdgeAttention<T>& work) {
  for (int64_t i = 0; i < work.queries; ++i) {
    const T* const gradient = work.gradient + i * work.out_stride;
    for (int64_t edge = first_edge(work, i); edge < first_edge(work, i + 1); ++edge) {
      work.dweights[edge] =
          row_product(gradient, work.v + work.keys[edge] * work.v_stride, work.width);
      add_row(work.dv + work.keys[edge] * work.dkv_stride, work.dropped[edge], gradient,
              work.width);
    }
  }
}

// The gradients of the scores, in place of those of the weights.
template <class T>
inline void edge_softmax_backward(const EdgeAttention<T>& work, int64_t begin, int64_t end) {
  float mean = 0;
  for (int64_t edge = begin; edge < end; ++edge) {
    mean += work.weights[edge] * work.dweights[edge];
  }
  for (int64_t edge = begin; edge < end; ++edge) {
    work.dweights[edge] = work.scale * work.weights[edge] * (work.dweights[edge] - mean);
  }
}

template <class T>
void edge_weights_backward(const EdgeAttention<T>& work) {
  for (int64_t i = 0; i < work.queries; ++i) {
    const int64_t begin = first_edge(work, i);
    const int64_t end = first_edge(work, i + 1);
    edge_softmax_backward(work, begin, end);
    for_each_vector(work.width, [&](int64_t c, int count) {
      Vec dq = zero();
      for (int64_t edge = begin; edge < end; ++edge) {
        dq = fma(set(work.dweights[edge]), edge_key(work, edge, c, count), dq);
      }
      store_up_to(work.dq + i * work.dq_stride + c, dq, count);
    });
    const T* const q = work.q + i * work.q_stride;
    for (int64_t edge = begin; edge < end; ++edge) {
      add_row(work.dk + work.keys[edge] * work.dkv_stride, work.dweights[edge], q, work.width);
      if (work.dvectors != nullptr) {
        add_row(work.dvectors + work.kinds[edge] * work.width, work.dweights[edge], q, work.width);
      }
    }
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
