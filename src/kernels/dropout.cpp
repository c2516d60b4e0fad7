#include "kernels/dropout.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/norm.h"
#include "kernels/operation_profiler.h"
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
                            const RngKey& rng_key) {
    const auto rule = dropout_rule(p, rng_key);
    save_rule(*context, rule, rng_key.first_row);
    return dropout_forward({}, x.contiguous(), rule, rng_key.first_row);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto [rule, first_row] = saved_rule(*context);
    return {dropout_forward({}, gradients[0].contiguous(), rule, first_row), {}, {}};
  }
};

class AddDropout : public torch::autograd::Function<AddDropout> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& residual,
                            const at::Tensor& branch,
                            double p,
                            const RngKey& rng_key) {
    const auto rule = dropout_rule(p, rng_key);
    save_rule(*context, rule, rng_key.first_row);
    return dropout_forward(residual.contiguous(), branch.contiguous(), rule, rng_key.first_row);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto [rule, first_row] = saved_rule(*context);
    at::Tensor dbranch;
    if (context->needs_input_grad(1)) {
      dbranch = rule.threshold == 0
                    ? gradients[0]
                    : dropout_forward({}, gradients[0].contiguous(), rule, first_row);
    }
    return {gradients[0], dbranch, {}, {}};
  }
};

}  // namespace

void save_rule(AutogradContext& context, const DropoutRule& rule, int64_t first_row) {
  context.saved_data["key"] =
      static_cast<int64_t>((static_cast<uint64_t>(rule.key[1]) << 32U) | rule.key[0]);
  context.saved_data["threshold"] = static_cast<int64_t>(rule.threshold);
  context.saved_data["scale"] = static_cast<double>(rule.scale);
  context.saved_data["first_row"] = first_row;
}

std::pair<DropoutRule, int64_t> saved_rule(AutogradContext& context) {
  const auto key = static_cast<uint64_t>(context.saved_data["key"].toInt());
  return {{.key = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32U)},
           .threshold = static_cast<uint32_t>(context.saved_data["threshold"].toInt()),
           .scale = static_cast<float>(context.saved_data["scale"].toDouble())},
          context.saved_data["first_row"].toInt()};
}

at::Tensor dropout_forward(const at::Tensor& residual,
                           const at::Tensor& x,
                           const DropoutRule& rule,
                           int64_t first_row) {
  auto out = at::empty_like(x);
  const int64_t columns = x.size(1);
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    const auto dropout_rng = to_dropout_rng(rule);
    for_each_range(x, x.size(0), row_grain(columns), [&](int64_t begin, int64_t end) {
      operations<T>(x).dropout(
          {.begin = begin, .end = end, .columns = columns, .first_row = first_row}, dropout_rng,
          elements<const T>(residual), elements<const T>(x), elements<T>(out));
    });
  });
  return out;
}

at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key) {
  TORCH_CHECK(x.dim() == 2, "dropout expects (N, D), got ", x.sizes());
  if (p == 0.0) {
    return x;
  }
  const ScopedOperationTimer timer(Operation::kDropout);
  if (!has_fused_kernel(x)) {
    return reference::dropout(x, p, rng_key);
  }
  return Dropout::apply(x, p, rng_key);
}

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key) {
  const ScopedOperationTimer timer(Operation::kDropout);
  TORCH_CHECK(residual.dim() == 2 && residual.sizes() == branch.sizes(),
              "add_dropout expects two (N, D), got ", residual.sizes(), " and ", branch.sizes());
  if (!has_fused_kernel(residual) || residual.scalar_type() != branch.scalar_type()) {
    return reference::add_dropout(residual, branch, p, rng_key);
  }
  return AddDropout::apply(residual, branch, p, rng_key);
}

}  // namespace weft::kernels
