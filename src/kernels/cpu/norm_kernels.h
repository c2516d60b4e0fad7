// LayerNorm (arXiv:1607.06450), alone or after residual + dropout. Included only by per-level
// translation units.
#pragma once

#include "kernels/cpu/dropout_kernels.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

// Lanes beyond the end of the row are 0, not (0 - mean).
inline Vec centered(Vec x, Vec mean, int count) {
  return keep(x - mean, (1U << static_cast<unsigned>(count)) - 1U);
}

// Normalises with the row's mean and rstd.
template <class T>
inline void store_normalized_row(const NormForward<T>& norm, int64_t row, const T* x) {
  const Vec mean = set(norm.mean[row]);
  const Vec rstd = set(norm.rstd[row]);
  T* const out = norm.out + row * norm.rows.columns;
  for_each_vector(norm.rows.columns, [&](int64_t column, int count) {
    const Vec d = (load_up_to(x + column, count) - mean) * rstd;
    const Vec bias = norm.bias == nullptr ? zero() : load_up_to(norm.bias + column, count);
    const Vec y = fma(d, load_up_to(norm.weight + column, count), bias);
    store_up_to(out + column, y, count);
  });
}

template <class T>
inline void normalize_row(const NormForward<T>& norm, int64_t row, const T* x, float mean) {
  const int64_t columns = norm.rows.columns;
  const Vec centre = set(mean);
  Vec squares = zero();
  for_each_vector(columns, [&](int64_t column, int count) {
    const Vec d = centered(load_up_to(x + column, count), centre, count);
    squares = fma(d, d, squares);
  });
  const float variance = sum(squares) / static_cast<float>(columns);
  const float rstd = 1.0F / __builtin_sqrtf(variance + norm.epsilon);
  norm.mean[row] = mean;
  norm.rstd[row] = rstd;
  store_normalized_row(norm, row, x);
}

template <class T>
void norm_forward(NormForward<T> norm) {
  BitStream stream(norm.dropout_rng);
  const Vec scale = set(norm.dropout_rng.scale);
  const int64_t columns = norm.rows.columns;
  for (int64_t row = norm.rows.begin; row < norm.rows.end; ++row) {
    const int64_t start = row * columns;
    const T* x = norm.branch + start;
    Vec total = zero();
    if (norm.residual == nullptr) {
      for_each_vector(columns, [&](int64_t column, int count) {
        total = total + load_up_to(x + column, count);
      });
    } else {
      for_each_vector(columns, stream, first_group(norm.rows, row),
                      [&](int64_t column, int count, uint32_t bits) {
                        const Vec branch = keep(load_up_to(x + column, count), bits) * scale;
                        const Vec value =
                            branch + load_up_to(norm.residual + start + column, count);
                        store_up_to(norm.sum + start + column, value, count);
                        // Statistics use the rounded sum, because the backward pass reads that one.
                        total = total + load_up_to(norm.sum + start + column, count);
                      });
      x = norm.sum + start;
    }
    normalize_row(norm, row, x, norm.is_rms ? 0.0F : sum(total) / static_cast<float>(columns));
  }
}

template <class T>
void norm_recompute(NormForward<T> norm) {
  for (int64_t row = norm.rows.begin; row < norm.rows.end; ++row) {
    store_normalized_row(norm, row, norm.branch + row * norm.rows.columns);
  }
}

// The two means needed by the gradient of a row; computing them also accumulates the gradients of
// weight and bias.
struct RowMeans {
  Vec gradient;
  Vec projected;
};

template <class T>
inline RowMeans row_means(const NormBackward<T>& norm, int64_t row) {
  const int64_t columns = norm.rows.columns;
  const T* const x = norm.x + row * columns;
  const T* const gradient = norm.gradient + row * columns;
  float* const dweight = norm.sums;
  float* const dbias = norm.sums + columns;
  const Vec mean = set(norm.mean[row]);
  const Vec rstd = set(norm.rstd[row]);
  Vec sum_gradient = zero();
  Vec sum_projected = zero();
  for_each_vector(columns, [&](int64_t column, int count) {
    const Vec g = load_up_to(gradient + column, count);
    const Vec normal = (load_up_to(x + column, count) - mean) * rstd;
    const Vec scaled = g * load_up_to(norm.weight + column, count);
    sum_gradient = sum_gradient + scaled;
    sum_projected = fma(scaled, normal, sum_projected);
    store_up_to(dweight + column, fma(g, normal, load_up_to(dweight + column, count)), count);
    store_up_to(dbias + column, load_up_to(dbias + column, count) + g, count);
  });
  const float inverse = 1.0F / static_cast<float>(columns);
  return {norm.is_rms ? zero() : set(sum(sum_gradient) * inverse),
          set(sum(sum_projected) * inverse)};
}

template <class T>
void norm_backward(NormBackward<T> norm) {
  BitStream stream(norm.dropout_rng);
  const Vec scale = set(norm.dropout_rng.scale);
  const int64_t columns = norm.rows.columns;
  norm.sums += norm.rows.begin / norm.block_rows * 2 * columns;
  for (int64_t column = 0; column < 2 * columns; ++column) {
    norm.sums[column] = 0.0F;
  }
  for (int64_t row = norm.rows.begin; row < norm.rows.end; ++row) {
    const RowMeans means = row_means(norm, row);
    const int64_t start = row * columns;
    const Vec mean = set(norm.mean[row]);
    const Vec rstd = set(norm.rstd[row]);
    const auto dx_at = [&](int64_t column, int count) {
      const Vec normal = (load_up_to(norm.x + start + column, count) - mean) * rstd;
      const Vec scaled = load_up_to(norm.gradient + start + column, count) *
                         load_up_to(norm.weight + column, count);
      return (scaled - means.gradient - normal * means.projected) * rstd;
    };
    if (norm.dbranch == nullptr) {
      for_each_vector(columns, [&](int64_t column, int count) {
        store_up_to(norm.dx + start + column, dx_at(column, count), count);
      });
      continue;
    }
    for_each_vector(columns, stream, first_group(norm.rows, row),
                    [&](int64_t column, int count, uint32_t bits) {
                      const Vec dx = dx_at(column, count);
                      store_up_to(norm.dx + start + column, dx, count);
                      store_up_to(norm.dbranch + start + column, keep(dx, bits) * scale, count);
                    });
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
