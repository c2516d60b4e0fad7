// Activations and gated activations (arXiv:2002.05202), with their gradients.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/vectors.cuh"

namespace weft::kernels::cuda {
namespace {

struct ValueAndDerivative {
  float value;
  float derivative;
};

struct Gelu {
  __device__ static ValueAndDerivative at(float x) {
    constexpr float kInverseRoot2 = 0.70710678F;
    constexpr float kInverseRoot2Pi = 0.39894228F;
    const float distribution = 0.5F * (1.0F + erff(x * kInverseRoot2));
    const float density = kInverseRoot2Pi * __expf(-0.5F * x * x);
    return {x * distribution, fmaf(x, density, distribution)};
  }
};

__device__ inline float sigmoid(float x) { return 1.0F / (1.0F + __expf(-x)); }

struct GeluTanh {
  __device__ static ValueAndDerivative at(float x) {
    constexpr float kCubic = 0.044715F;
    constexpr float kFactor = 1.59576912F;  // 2 sqrt(2 / pi): 0.5 (1 + tanh u) = sigmoid(2 u)
    const float s = sigmoid(x * kFactor * fmaf(x * x, kCubic, 1.0F));
    const float inner = kFactor * fmaf(x * x, 3.0F * kCubic, 1.0F);
    return {x * s, fmaf(x * s * (1.0F - s), inner, s)};
  }
};

struct Relu {
  __device__ static ValueAndDerivative at(float x) {
    return {fmaxf(x, 0.0F), x > 0.0F ? 1.0F : 0.0F};
  }
};

struct Silu {
  __device__ static ValueAndDerivative at(float x) {
    const float s = sigmoid(x);
    return {x * s, s * fmaf(x, 1.0F - s, 1.0F)};
  }
};

struct Tanh {
  __device__ static ValueAndDerivative at(float x) {
    const float t = tanhf(x);
    return {t, 1.0F - t * t};
  }
};

template <class Body>
void dispatch_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::kGelu:
      return body(Gelu{});
    case Activation::kGeluTanh:
      return body(GeluTanh{});
    case Activation::kRelu:
      return body(Relu{});
    case Activation::kSilu:
      return body(Silu{});
    case Activation::kTanh:
      return body(Tanh{});
  }
}

template <class Function, class T>
__global__ void forward(cpu::ActivationRows<T> work, bool is_wide) {
  const auto [first, count] = place_of_thread(work.rows * work.columns);
  auto x = load(work.x + first, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    x.at[i] = Function::at(x.at[i]).value;
  }
  store(work.y + first, x, count, is_wide);
}

template <class Function, class T>
__global__ void backward(cpu::ActivationRows<T> work, bool is_wide) {
  const auto [first, count] = place_of_thread(work.rows * work.columns);
  const auto x = load(work.x + first, count, is_wide);
  const auto gradient = load(work.gradient + first, count, is_wide);
  Vector y;
  Vector dx;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const auto at_x = Function::at(x.at[i]);
    y.at[i] = at_x.value;
    dx.at[i] = gradient.at[i] * at_x.derivative;
  }
  store(work.dx + first, dx, count, is_wide);
  if (work.y != nullptr) {
    store(work.y + first, y, count, is_wide);
  }
}

/// Vector of a row that this thread computes.
struct RowPlace {
  int64_t row;
  int64_t column;
  int count;
};

template <class T>
__device__ inline RowPlace row_place(const cpu::ActivationRows<T>& work, unsigned tiles_of_row) {
  const auto [row, vector] = tile_place(tiles_of_row);
  const int64_t column = vector * kWidth;
  return {row, column, row < work.rows ? count_at(column, work.columns) : 0};
}

template <class Function, class T>
__global__ void forward_gated(cpu::ActivationRows<T> work, unsigned tiles_of_row, bool is_wide) {
  const auto [row, column, count] = row_place(work, tiles_of_row);
  const T* const x = work.x + row * 2 * work.columns + column;
  auto y = load(x, count, is_wide);
  const auto gate = load(x + work.columns, count, is_wide);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    y.at[i] = Function::at(y.at[i]).value * gate.at[i];
  }
  store(work.y + row * work.columns + column, y, count, is_wide);
}

template <class Function, class T>
__global__ void backward_gated(cpu::ActivationRows<T> work, unsigned tiles_of_row, bool is_wide) {
  const auto [row, column, count] = row_place(work, tiles_of_row);
  const int64_t start = row * 2 * work.columns + column;
  const auto x = load(work.x + start, count, is_wide);
  const auto gate = load(work.x + start + work.columns, count, is_wide);
  const auto gradient = load(work.gradient + row * work.columns + column, count, is_wide);
  Vector y;
  Vector dx;
  Vector dgate;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    const auto at_x = Function::at(x.at[i]);
    y.at[i] = at_x.value * gate.at[i];
    dx.at[i] = gradient.at[i] * gate.at[i] * at_x.derivative;
    dgate.at[i] = gradient.at[i] * at_x.value;
  }
  store(work.dx + start, dx, count, is_wide);
  store(work.dx + start + work.columns, dgate, count, is_wide);
  if (work.y != nullptr) {
    store(work.y + row * work.columns + column, y, count, is_wide);
  }
}

template <class T>
bool is_wide_work(const cpu::ActivationRows<T>& work, bool is_gated) {
  return (!is_gated || work.columns % kWidth == 0) &&
         are_aligned(work.x, work.y, work.gradient, work.dx);
}

}  // namespace

template <class T>
void activation_forward(Activation activation, cpu::ActivationRows<T> work) {
  if (work.rows * work.columns == 0) {
    return;
  }
  dispatch_activation(activation, [&](auto function) {
    forward<decltype(function)>
        <<<flat_blocks(work.rows * work.columns), kFlatThreads, 0,
           c10::cuda::getCurrentCUDAStream()>>>(work, is_wide_work(work, false));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void activation_backward(Activation activation, cpu::ActivationRows<T> work) {
  if (work.rows * work.columns == 0) {
    return;
  }
  dispatch_activation(activation, [&](auto function) {
    backward<decltype(function)>
        <<<flat_blocks(work.rows * work.columns), kFlatThreads, 0,
           c10::cuda::getCurrentCUDAStream()>>>(work, is_wide_work(work, false));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void gated_forward(Activation activation, cpu::ActivationRows<T> work) {
  if (work.rows * work.columns == 0) {
    return;
  }
  const TileLaunch launch(work.rows, vectors_of(work.columns));
  dispatch_activation(activation, [&](auto function) {
    forward_gated<decltype(function)>
        <<<launch.blocks, launch.threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
            work, launch.tiles_of_row, is_wide_work(work, true));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class T>
void gated_backward(Activation activation, cpu::ActivationRows<T> work) {
  if (work.rows * work.columns == 0) {
    return;
  }
  const TileLaunch launch(work.rows, vectors_of(work.columns));
  dispatch_activation(activation, [&](auto function) {
    backward_gated<decltype(function)>
        <<<launch.blocks, launch.threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
            work, launch.tiles_of_row, is_wide_work(work, true));
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template void activation_forward(Activation, cpu::ActivationRows<float>);
template void activation_forward(Activation, cpu::ActivationRows<Bf16>);
template void activation_backward(Activation, cpu::ActivationRows<float>);
template void activation_backward(Activation, cpu::ActivationRows<Bf16>);
template void gated_forward(Activation, cpu::ActivationRows<float>);
template void gated_forward(Activation, cpu::ActivationRows<Bf16>);
template void gated_backward(Activation, cpu::ActivationRows<float>);
template void gated_backward(Activation, cpu::ActivationRows<Bf16>);

}  // namespace weft::kernels::cuda
