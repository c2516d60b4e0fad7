#include "kernels/softmax.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"

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

}  // namespace weft::kernels
