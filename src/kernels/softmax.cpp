#include "kernels/softmax.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/operation_profiler.h"
#include "kernels/parallel.h"
#include "kernels/sum.h"

namespace weft::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Softmax : public torch::autograd::Function<Softmax> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    auto weights = at::softmax(x, -1);
    context->save_for_backward({weights});
    return weights;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto weights = context->get_saved_variables()[0];
    const auto terms = gradients[0] * weights;
    return {terms - weights * terms.sum(-1, true)};
  }
};

/// First column at which the cumulative probability exceeds `uniform` times the total; the total
/// may differ from 1 by rounding.
template <class Scalar>
int64_t inverse_cdf(const Scalar* probabilities, int64_t columns, double uniform) {
  double all = 0;
  for (int64_t column = 0; column < columns; ++column) {
    all += probabilities[column];
  }
  double sum = 0;
  int64_t last = 0;  // last column with nonzero probability
  for (int64_t column = 0; column < columns; ++column) {
    sum += probabilities[column];
    if (sum > uniform * all) {
      return column;
    }
    last = probabilities[column] > 0 ? column : last;
  }
  return last;
}

template <class Scalar>
at::Tensor sample_rows(const at::Tensor& probabilities, const at::Tensor& uniforms) {
  constexpr int64_t kAtOnce = int64_t{1} << 15U;  // minimum number of probabilities per thread
  const int64_t columns = probabilities.size(1);
  auto samples = at::empty({probabilities.size(0)}, at::kLong);
  const auto numbers = uniforms.contiguous();
  const auto* const probability = probabilities.const_data_ptr<Scalar>();
  const auto* const uniform = numbers.const_data_ptr<double>();
  auto* const result = samples.data_ptr<int64_t>();
  parallel_for(0, probabilities.size(0), 1 + kAtOnce / columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      result[row] = inverse_cdf(probability + row * columns, columns, uniform[row]);
    }
  });
  return samples;
}

/// Same with ATen, for other devices.
at::Tensor draw_plain_rows(const at::Tensor& probabilities, const at::Tensor& uniforms) {
  const auto sums = probabilities.cumsum(1, at::kDouble);                           // (M, C)
  const auto wanted = uniforms.to(sums.device()).unsqueeze(1) * sums.slice(1, -1);  // (M, 1)
  return at::searchsorted(sums, wanted, false, /*right=*/true)
      .squeeze(1)
      .clamp_max(probabilities.size(1) - 1);
}

}  // namespace

at::Tensor softmax(const at::Tensor& x) { return Softmax::apply(x); }

at::Tensor log_sum_exp(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2, "log_sum_exp expects (N, C), got ", x.sizes());
  if (!has_vector_kernel(x)) {
    return x.to(at::kFloat).logsumexp(1);
  }
  const auto rows = x.contiguous();
  auto out = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
  dispatch_element_type(rows, [&](auto element) {
    using T = decltype(element);
    parallel_for(0, rows.size(0), row_grain(rows.size(1)), [&](int64_t begin, int64_t end) {
      operations<T>().log_sum_exp_rows(elements<const T>(rows) + begin * rows.size(1), end - begin,
                                       rows.size(1), elements<float>(out) + begin);
    });
  });
  return out;
}

float log_sum_exp(std::span<const float> row) {
  float result = 0;
  operations<float>().log_sum_exp_rows(row.data(), 1, static_cast<int64_t>(row.size()), &result);
  return result;
}

at::Tensor sample_categorical(const at::Tensor& logits, const at::Tensor& uniforms) {
  const ScopedOperationTimer timer(Operation::kLoss);
  const at::NoGradGuard no_grad;
  return sample_probabilities(at::softmax(logits, -1, accumulate_type(logits)), uniforms);
}

at::Tensor sample_probabilities(const at::Tensor& given, const at::Tensor& uniforms) {
  TORCH_CHECK(given.dim() == 2 && given.size(1) > 0 && uniforms.dim() == 1 &&
                  uniforms.size(0) == given.size(0) && uniforms.scalar_type() == at::kDouble,
              "sampling expects logits or probabilities (M, C) and uniforms (M) double, got ",
              given.sizes(), " and ", uniforms.sizes());
  const at::NoGradGuard no_grad;
  const auto probabilities = given.to(accumulate_type(given)).contiguous();
  if (!probabilities.device().is_cpu()) {
    return draw_plain_rows(probabilities, uniforms);
  }
  return probabilities.scalar_type() == at::kDouble ? sample_rows<double>(probabilities, uniforms)
                                                    : sample_rows<float>(probabilities, uniforms);
}

}  // namespace weft::kernels
