#include "kernels/dropout.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dropout_pass.h"
#include "kernels/fused.h"
#include "kernels/gpu.h"
#include "kernels/norm.h"
#include "kernels/operation_clock.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Dropout : public torch::autograd::Function<Dropout> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            double p,
                            const Chance& chance) {
    const auto rule = drop_rule(p, chance);
    save(*context, rule, chance.first_row);
    return dropout_pass({}, x.contiguous(), rule, chance.first_row);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto [rule, first_row] = saved(*context);
    return {dropout_pass({}, gradients[0].contiguous(), rule, first_row), {}, {}};
  }
};

class AddDropout : public torch::autograd::Function<AddDropout> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& residual,
                            const at::Tensor& branch,
                            double p,
                            const Chance& chance) {
    const auto rule = drop_rule(p, chance);
    save(*context, rule, chance.first_row);
    return dropout_pass(residual.contiguous(), branch.contiguous(), rule, chance.first_row);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto [rule, first_row] = saved(*context);
    at::Tensor dbranch;
    if (context->needs_input_grad(1)) {
      dbranch = rule.threshold == 0 ? gradients[0]
                                    : dropout_pass({}, gradients[0].contiguous(), rule, first_row);
    }
    return {gradients[0], dbranch, {}, {}};
  }
};

}  // namespace

at::Tensor dropout_pass(const at::Tensor& residual,
                        const at::Tensor& x,
                        const DropRule& rule,
                        int64_t first_row) {
  auto out = at::empty_like(x);
  const int64_t columns = x.size(1);
  with_element(x, [&](auto element) {
    using T = decltype(element);
    const auto draws = draws_of(rule);
    parallel_for(0, x.size(0), row_grain(columns), [&](int64_t begin, int64_t end) {
      operations<T>().dropout(
          {.begin = begin, .end = end, .columns = columns, .first_row = first_row}, draws,
          elements<const T>(residual), elements<const T>(x), elements<T>(out));
    });
  });
  return out;
}

at::Tensor dropout(const at::Tensor& x, double p, const Chance& chance) {
  TORCH_CHECK(x.dim() == 2, "dropout expects (N, D), got ", x.sizes());
  if (p == 0.0) {
    return x;
  }
  const Timed timed(Operation::kDropout);
  if (!is_served(x)) {
    return x.is_cuda() ? gpu::dropout(x, p, chance) : reference::dropout(x, p, chance);
  }
  return Dropout::apply(x, p, chance);
}

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const Chance& chance) {
  const Timed timed(Operation::kDropout);
  TORCH_CHECK(residual.dim() == 2 && residual.sizes() == branch.sizes(),
              "add_dropout expects two (N, D), got ", residual.sizes(), " and ", branch.sizes());
  if (residual.is_cuda()) {
    return gpu::add_dropout(residual, branch, p, chance);
  }
  if (!is_served(residual) || residual.scalar_type() != branch.scalar_type()) {
    return reference::add_dropout(residual, branch, p, chance);
  }
  return AddDropout::apply(residual, branch, p, chance);
}

}  // namespace weft::kernels
