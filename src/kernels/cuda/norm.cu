// LayerNorm (arXiv:1607.06450) and RMSNorm (arXiv:1910.07467), alone or after residual + dropout. A
// row stays in the registers of one warp, or of a few.
#include "kernels/cuda/kernel_table.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kRowsOfBlock = 4;  // where a warp computes a row

/// Sum over the kWarps warps of a block that compute one row.
template <int kWarps>
__device__ inline float row_sum(float x) {
  x = warp_sum(x);
  if constexpr (kWarps > 1) {
    __shared__ float sums[kWarps];
    __syncthreads();
    if (threadIdx.x % kWarp == 0) {
      sums[threadIdx.x / kWarp] = x;
    }
    __syncthreads();
    x = 0.0F;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      x += sums[warp];
    }
  }
  return x;
}

/// load() and store() of vectors of a row. kIsWide: all have 8 elements, aligned.
template <bool kIsWide, class T>
__device__ inline Packet<T> load_part(const T* p, int count) {
  if constexpr (kIsWide) {
    return count == kWidth ? *reinterpret_cast<const Packet<T>*>(p) : Packet<T>{};
  } else {
    return load_packet(p, count, false);
  }
}

template <bool kIsWide, class T>
__device__ inline void store_part(T* p, const Vector& x, int count) {
  if (!kIsWide || count == kWidth) {
    store(p, x, count, kIsWide);
  }
}

template <int kWarps>
__device__ inline int64_t vector_of(int index) {
  return int64_t{index} * kWarp * kWarps + threadIdx.x;
}

template <bool kIsWide, class T>
__device__ inline void store_normalized(const cpu::NormForward<T>& norm,
                                        const Vector& x,
                                        int64_t row,
                                        int64_t column,
                                        float mean,
                                        float rstd) {
  const int count = count_at(column, norm.rows.columns);
  const auto weight = widened(load_part<kIsWide>(norm.weight + column, count));
  const auto bias =
      norm.bias == nullptr ? Vector{} : widened(load_part<kIsWide>(norm.bias + column, count));
  Vector y;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    y.at[i] = fmaf((x.at[i] - mean) * rstd, weight.at[i], bias.at[i]);
  }
  store_part<kIsWide>(norm.out + row * norm.rows.columns + column, y, count);
}

template <class T, int kVectors, int kWarps, bool kIsWide>
__global__ void forward(cpu::NormForward<T> norm) {
  const int64_t row = norm.rows.begin + int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= norm.rows.end) {
    return;
  }
  const int64_t columns = norm.rows.columns;
  const int64_t start = row * columns;
  Vector x[kVectors];
  float total = 0.0F;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t vector = vector_of<kWarps>(v);
    const int64_t column = vector * kWidth;
    const int count = count_at(column, columns);
    x[v] = widened(load_part<kIsWide>(norm.branch + start + column, count));
    if (norm.residual != nullptr) {
      const unsigned bits = kept_bits(norm.dropout_rng, norm.rows, row, vector);
      x[v] = dropped(x[v], bits, norm.dropout_rng.scale);
      const auto residual = widened(load_part<kIsWide>(norm.residual + start + column, count));
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        x[v].at[i] = as_stored<T>(x[v].at[i] + residual.at[i]);
      }
      store_part<kIsWide>(norm.sum + start + column, x[v], count);
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      total += x[v].at[i];
    }
  }
  const float mean = norm.is_rms ? 0.0F : row_sum<kWarps>(total) / static_cast<float>(columns);
  float squares = 0.0F;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int count = count_at(vector_of<kWarps>(v) * kWidth, columns);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float d = i < count ? x[v].at[i] - mean : 0.0F;
      squares = fmaf(d, d, squares);
    }
  }
  const float rstd =
      1.0F / sqrtf(row_sum<kWarps>(squares) / static_cast<float>(columns) + norm.epsilon);
  if (threadIdx.x == 0) {
    norm.mean[row] = mean;
    norm.rstd[row] = rstd;
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    store_normalized<kIsWide>(norm, x[v], row, vector_of<kWarps>(v) * kWidth, mean, rstd);
  }
}

/// Adds the rows' sums of a block one after another, in shared memory, and writes them.
template <int kVectors, int kWarps>
__device__ inline void store_sums(const Vector (&sums)[kVectors], float* out, int64_t columns) {
  __shared__ float shared[kWarps > 1 ? 1 : kVectors * kWarp * kWidth];
  for (int turn = 0; turn < blockDim.y; ++turn) {
    if (threadIdx.y == turn) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const int64_t column = vector_of<kWarps>(v) * kWidth;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          float sum = sums[v].at[i];
          if constexpr (kWarps == 1) {
            sum += turn == 0 ? 0.0F : shared[column + i];
            shared[column + i] = sum;
          }
          if (turn + 1 == blockDim.y && column + i < columns) {
            out[column + i] = sum;
          }
        }
      }
    }
    __syncthreads();
  }
}

/// What the backward pass reads of a row, as stored.
template <class T, int kVectors>
struct StoredRow {
  Packet<T> x[kVectors];
  Packet<T> gradient[kVectors];
};

template <class T, int kVectors, int kWarps, bool kIsWide>
__device__ inline void load_row(const cpu::NormBackward<T>& norm,
                                int64_t row,
                                StoredRow<T, kVectors>& result) {
  const int64_t columns = norm.rows.columns;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int64_t column = vector_of<kWarps>(v) * kWidth;
    const int count = count_at(column, columns);
    result.x[v] = load_part<kIsWide>(norm.x + row * columns + column, count);
    result.gradient[v] = load_part<kIsWide>(norm.gradient + row * columns + column, count);
  }
}

/// The next row is loaded while one is computed.
template <class T, int kVectors, int kWarps, bool kIsWide>
__global__ void __launch_bounds__(kWarp*(kWarps == 1 ? kRowsOfBlock : kWarps),
                                  kWarps > 4 ? 1 : 6 - kVectors)
    backward(cpu::NormBackward<T> norm) {
  const int64_t columns = norm.rows.columns;
  const int64_t first = norm.rows.begin + int64_t{blockIdx.x} * norm.block_rows;
  const int64_t last = min(norm.rows.end, first + norm.block_rows);
  Vector dweight[kVectors] = {};
  Vector dbias[kVectors] = {};
  StoredRow<T, kVectors> stored;
  int64_t row = first + threadIdx.y;
  if (row < last) {
    load_row<T, kVectors, kWarps, kIsWide>(norm, row, stored);
  }
  for (; row < last; row += blockDim.y) {
    const auto current = stored;
    if (row + blockDim.y < last) {
      load_row<T, kVectors, kWarps, kIsWide>(norm, row + blockDim.y, stored);
    }
    const float mean = norm.mean[row];
    const float rstd = norm.rstd[row];
    float sum_gradient = 0.0F;
    float sum_projected = 0.0F;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t column = vector_of<kWarps>(v) * kWidth;
      const auto weight =
          widened(load_part<kIsWide>(norm.weight + column, count_at(column, columns)));
      const auto x = widened(current.x[v]);
      const auto gradient = widened(current.gradient[v]);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const float normal = (x.at[i] - mean) * rstd;
        const float scaled = gradient.at[i] * weight.at[i];
        sum_gradient += scaled;
        sum_projected = fmaf(scaled, normal, sum_projected);
        dweight[v].at[i] = fmaf(gradient.at[i], normal, dweight[v].at[i]);
        dbias[v].at[i] += gradient.at[i];
      }
    }
    const float inverse = 1.0F / static_cast<float>(columns);
    const float mean_gradient = norm.is_rms ? 0.0F : row_sum<kWarps>(sum_gradient) * inverse;
    const float mean_projected = row_sum<kWarps>(sum_projected) * inverse;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int64_t vector = vector_of<kWarps>(v);
      const int64_t column = vector * kWidth;
      const int count = count_at(column, columns);
      const auto weight = widened(load_part<kIsWide>(norm.weight + column, count));
      const auto x = widened(current.x[v]);
      const auto gradient = widened(current.gradient[v]);
      Vector dx;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const float normal = (x.at[i] - mean) * rstd;
        dx.at[i] = (gradient.at[i] * weight.at[i] - mean_gradient - normal * mean_projected) * rstd;
      }
      store_part<kIsWide>(norm.dx + row * columns + column, dx, count);
      if (norm.dbranch != nullptr) {
        const unsigned bits = kept_bits(norm.dropout_rng, norm.rows, row, vector);
        store_part<kIsWide>(norm.dbranch + row * columns + column,
                            dropped(dx, bits, norm.dropout_rng.scale), count);
      }
    }
  }
  float* const sums = norm.sums + (norm.rows.begin / norm.block_rows + blockIdx.x) * 2 * columns;
  store_sums<kVectors, kWarps>(dweight, sums, columns);
  store_sums<kVectors, kWarps>(dbias, sums + columns, columns);
}

template <int kVectors, int kWarps, bool kIsWide>
struct Shape {
  static constexpr bool is_wide = kIsWide;
  static constexpr int vectors = kVectors;
  static constexpr int warps = kWarps;
  static constexpr int rows = kWarps == 1 ? kRowsOfBlock : 1;
  static dim3 threads() { return {kWarp * kWarps, rows}; }
};

template <bool kIsWide, class Body>
void dispatch_columns(int64_t columns, const Body& body) {
  TORCH_CHECK(columns <= kMaxNormColumns, "norms on a GPU support up to ", kMaxNormColumns,
              " columns, got ", columns);
  constexpr int64_t kOneVector = int64_t{kWarp} * kWidth;
  if (columns <= kOneVector) {
    body(Shape<1, 1, kIsWide>{});
  } else if (columns <= 2 * kOneVector) {
    body(Shape<2, 1, kIsWide>{});
  } else if (columns <= 3 * kOneVector) {
    body(Shape<3, 1, kIsWide>{});
  } else if (columns <= 4 * kOneVector) {
    body(Shape<4, 1, kIsWide>{});
  } else if (columns <= 8 * kOneVector) {
    body(Shape<2, 4, kIsWide>{});
  } else if (columns <= 16 * kOneVector) {
    body(Shape<4, 4, kIsWide>{});
  } else {
    body(Shape<4, 8, kIsWide>{});
  }
}

/// Calls body(Shape) with the shape whose registers hold a row.
template <class Body>
void dispatch_shape(int64_t columns, bool is_wide, const Body& body) {
  is_wide ? dispatch_columns<true>(columns, body) : dispatch_columns<false>(columns, body);
}

/// Whether the kernels here can drop elements of these rows; else `dropout` does.
bool starts_with_tile(const cpu::Rows& rows, const cpu::DropoutRng& rng) {
  return rng.threshold == 0 || groups_of(rows) % kGroupsOfTile == 0;
}

}  // namespace

template <class T>
void norm_forward(cpu::NormForward<T> norm) {
  const int64_t rows = norm.rows.end - norm.rows.begin;
  if (rows == 0) {
    return;
  }
  if (norm.residual != nullptr && !starts_with_tile(norm.rows, norm.dropout_rng)) {
    dropout(norm.rows, norm.dropout_rng, norm.residual, norm.branch, norm.sum);
    norm.residual = nullptr;
    norm.branch = norm.sum;
  }
  const bool is_wide =
      norm.rows.columns % kWidth == 0 &&
      are_aligned(norm.residual, norm.branch, norm.weight, norm.bias, norm.sum, norm.out);
  dispatch_shape(norm.rows.columns, is_wide, [&](auto shape) {
    forward<T, shape.vectors, shape.warps, shape.is_wide>
        <<<blocks_for(rows, shape.rows), shape.threads(), 0, c10::cuda::getCurrentCUDAStream()>>>(
            norm);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void norm_backward(cpu::NormBackward<T> norm) {
  const int64_t rows = norm.rows.end - norm.rows.begin;
  if (rows == 0) {
    return;
  }
  T* const dbranch = norm.dbranch;
  const bool is_dropped_alone =
      dbranch != nullptr && !starts_with_tile(norm.rows, norm.dropout_rng);
  if (is_dropped_alone) {
    norm.dbranch = nullptr;
  }
  const bool is_wide = norm.rows.columns % kWidth == 0 &&
                       are_aligned(norm.x, norm.gradient, norm.weight, norm.dx, norm.dbranch);
  dispatch_shape(norm.rows.columns, is_wide, [&](auto shape) {
    backward<T, shape.vectors, shape.warps, shape.is_wide>
        <<<blocks_for(rows, norm.block_rows), shape.threads(), 0,
           c10::cuda::getCurrentCUDAStream()>>>(norm);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (is_dropped_alone) {
    dropout<T>(norm.rows, norm.dropout_rng, nullptr, norm.dx, dbranch);
  }
}

template void norm_forward(cpu::NormForward<float>);
template void norm_forward(cpu::NormForward<Bf16>);
template void norm_backward(cpu::NormBackward<float>);
template void norm_backward(cpu::NormBackward<Bf16>);

}  // namespace weft::kernels::cuda
