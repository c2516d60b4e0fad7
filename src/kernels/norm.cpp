#include "kernels/norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/dropout.h"
#include "kernels/fused.h"
#include "kernels/operation_profiler.h"
#include "kernels/reference.h"
#include "kernels/sum.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool has_norm_kernel(const at::Tensor& x) {
  return has_fused_kernel(x) && (!x.is_cuda() || x.size(1) <= cuda::kMaxNormColumns);
}

/// A GPU computes more blocks at once.
int64_t block_rows_on(const at::Device& device, int64_t rows) {
  constexpr int64_t kGpuBlocks = 1024;
  return device.is_cuda() ? std::max<int64_t>(16, divide_up(rows, kGpuBlocks))
                          : norm_block_rows(rows);
}

struct Forward {
  at::Tensor out;   // (N, D)
  at::Tensor x;     // (N, D) input of the normalisation
  at::Tensor mean;  // (N) fp32
  at::Tensor rstd;  // (N) fp32
};

struct Scale {
  at::Tensor weight;  // (D) fp32
  at::Tensor bias;    // or undefined
};

Scale widened(const at::Tensor& weight, const at::Tensor& bias) {
  return {weight.to(at::kFloat).contiguous(),
          bias.defined() ? bias.to(at::kFloat).contiguous() : bias};
}

cpu::Rows norm_rows_of(const at::Tensor& x, int64_t begin, int64_t end, int64_t first_row) {
  return {.begin = begin, .end = end, .columns = x.size(1), .first_row = first_row};
}

// Without a residual, the branch is normalised as is.
Forward norm_forward(const at::Tensor& residual,
                     const at::Tensor& branch,
                     const NormWeights& norm,
                     const DropoutRule& rule,
                     int64_t first_row) {
  const auto statistics = branch.options().dtype(at::kFloat);
  Forward result{.out = at::empty_like(branch),
                 .x = residual.defined() ? at::empty_like(branch) : branch,
                 .mean = at::empty({branch.size(0)}, statistics),
                 .rstd = at::empty({branch.size(0)}, statistics)};
  const auto scale = widened(norm.weight, norm.bias);
  dispatch_element_type(branch, [&](auto element) {
    using T = decltype(element);
    const auto body = [&](int64_t begin, int64_t end) {
      operations<T>(branch).norm_forward(
          {.rows = norm_rows_of(branch, begin, end, first_row),
           .dropout_rng = to_dropout_rng(rule),
           .residual = elements<const T>(residual),
           .branch = elements<const T>(branch),
           .weight = elements<const float>(scale.weight),
           .bias = elements<const float>(scale.bias),
           .epsilon = static_cast<float>(norm.epsilon),
           .is_rms = norm.is_rms,
           .sum = residual.defined() ? elements<T>(result.x) : nullptr,
           .out = elements<T>(result.out),
           .mean = elements<float>(result.mean),
           .rstd = elements<float>(result.rstd)});
    };
    for_each_range(branch, branch.size(0), row_grain(branch.size(1)), body);
  });
  return result;
}

struct Gradients {
  at::Tensor dx;
  at::Tensor dbranch;  // dbranch and dbias are undefined unless requested
  at::Tensor dweight;
  at::Tensor dbias;
};

struct NormWanted {
  bool is_rms = false;
  bool branch = false;
  bool bias = false;
};

// saved: x, mean, rstd, weight, and possibly more.
Gradients norm_backward(const variable_list& saved,
                        const at::Tensor& gradient,
                        const NormWanted& wants,
                        const DropoutRule& rule,
                        int64_t first_row) {
  const auto& x = saved[0];
  const auto& weight = saved[3];
  const int64_t columns = x.size(1);
  const int64_t size = block_rows_on(x.device(), x.size(0));
  const int64_t blocks = divide_up(x.size(0), size);
  const auto wide_weight = weight.to(at::kFloat).contiguous();
  const auto parts = at::empty({blocks, 2 * columns}, wide_weight.options());
  Gradients result{.dx = at::empty_like(x), .dbranch = {}, .dweight = {}, .dbias = {}};
  if (wants.branch) {
    result.dbranch = at::empty_like(x);
  }
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    for_each_block(x, x.size(0), size, [&](int64_t begin, int64_t end) {
      operations<T>(x).norm_backward({.rows = norm_rows_of(x, begin, end, first_row),
                                      .dropout_rng = to_dropout_rng(rule),
                                      .x = elements<const T>(x),
                                      .gradient = elements<const T>(gradient),
                                      .weight = elements<const float>(wide_weight),
                                      .mean = elements<const float>(saved[1]),
                                      .rstd = elements<const float>(saved[2]),
                                      .is_rms = wants.is_rms,
                                      .dx = elements<T>(result.dx),
                                      .dbranch = elements<T>(result.dbranch),
                                      .sums = elements<float>(parts),
                                      .block_rows = size});
    });
  });
  const auto sums = column_sum(parts).to(weight.scalar_type()).view({2, columns});
  result.dweight = sums[0];
  if (wants.bias) {
    result.dbias = sums[1];
  }
  return result;
}

// LayerNorm or RMSNorm as an operation of autograd.
class PlainNorm : public torch::autograd::Function<PlainNorm> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            double epsilon,
                            bool is_rms) {
    const auto result = norm_forward({}, x.contiguous(),
                                     {.weight = weight,
                                      .bias = bias.value_or(at::Tensor()),
                                      .epsilon = epsilon,
                                      .is_rms = is_rms},
                                     {}, 0);
    context->saved_data["is_rms"] = is_rms;
    context->saved_data["has_bias"] = bias.has_value();
    context->save_for_backward(
        {result.x, result.mean, result.rstd, weight, bias.value_or(at::Tensor())});
    return result.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto result = norm_backward(context->get_saved_variables(), gradients[0].contiguous(),
                                      {.is_rms = context->saved_data["is_rms"].toBool(),
                                       .branch = false,
                                       .bias = context->saved_data["has_bias"].toBool()},
                                      {}, 0);
    return {result.dx, result.dweight, result.dbias, {}, {}};
  }
};

class AddDropoutNorm : public torch::autograd::Function<AddDropoutNorm> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& residual,
                            const at::Tensor& branch,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            double epsilon,
                            bool is_rms,
                            const DropoutRule& rule,
                            int64_t first_row) {
    const auto result = norm_forward(residual.contiguous(), branch.contiguous(),
                                     {.weight = weight,
                                      .bias = bias.value_or(at::Tensor()),
                                      .epsilon = epsilon,
                                      .is_rms = is_rms},
                                     rule, first_row);
    context->saved_data["is_rms"] = is_rms;
    context->saved_data["has_bias"] = bias.has_value();
    context->save_for_backward({result.x, result.mean, result.rstd, weight});
    save_rule(*context, rule, first_row);
    return result.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto [rule, first_row] = saved_rule(*context);
    // Without dropout, the branch has the same gradient as the sum.
    const bool wants_branch = rule.threshold != 0 && context->needs_input_grad(1);
    const auto result = norm_backward(context->get_saved_variables(), gradients[0].contiguous(),
                                      {.is_rms = context->saved_data["is_rms"].toBool(),
                                       .branch = wants_branch,
                                       .bias = context->saved_data["has_bias"].toBool()},
                                      rule, first_row);
    return {result.dx,
            wants_branch ? result.dbranch : result.dx,
            result.dweight,
            result.dbias,
            {},
            {},
            {},
            {}};
  }
};

void check_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 1 && weight.size(0) == x.size(1) &&
                  (!bias.defined() || bias.sizes() == weight.sizes()),
              "a norm expects x (N, D), weight (D) and bias (D) or none, got ", x.sizes(), ", ",
              weight.sizes(), ", ", bias.defined() ? bias.sizes() : at::IntArrayRef());
}

at::Tensor plain_norm(const at::Tensor& x, const NormWeights& norm) {
  const ScopedOperationTimer timer(Operation::kNorm);
  check_norm(x, norm.weight, norm.bias);
  if (!has_norm_kernel(x)) {
    return norm.is_rms ? reference::rms_norm(x, norm.weight, norm.epsilon)
                       : reference::layer_norm(x, norm.weight, norm.bias, norm.epsilon);
  }
  if (!at::GradMode::is_enabled()) {
    return norm_forward({}, x.contiguous(), norm, {}, 0).out;
  }
  return PlainNorm::apply(x, norm.weight, optional(norm.bias), norm.epsilon, norm.is_rms);
}

}  // namespace

int64_t norm_block_rows(int64_t rows) {
  constexpr int64_t kMaxBlocks = 64;
  return std::max<int64_t>(16, divide_up(rows, kMaxBlocks));
}

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon) {
  return plain_norm(x, {.weight = weight, .bias = bias, .epsilon = epsilon, .is_rms = false});
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return plain_norm(x, {.weight = weight, .bias = {}, .epsilon = epsilon, .is_rms = true});
}

std::vector<at::Tensor> save_for_recompute(const at::Tensor& y) {
  using Node = torch::autograd::CppNode<PlainNorm>;
  const auto* const norm = dynamic_cast<const Node*>(y.grad_fn().get());
  if (norm == nullptr || !y.is_cpu()) {
    return {y};
  }
  auto kept = norm->ctx_.get_saved_variables();
  for (auto& part : kept) {
    part = part.defined() ? part.detach() : part;  // the other graph does not need its history
  }
  return kept;
}

at::Tensor recompute(at::TensorList kept) {
  if (kept.size() == 1) {
    return kept[0];
  }
  const ScopedOperationTimer timer(Operation::kNorm);
  const auto& x = kept[0];
  const auto scale = widened(kept[3], kept[4]);
  auto y = at::empty_like(x);
  dispatch_element_type(x, [&](auto element) {
    using T = decltype(element);
    parallel_for(0, x.size(0), row_grain(x.size(1)), [&](int64_t begin, int64_t end) {
      operations<T>().norm_recompute({.rows = norm_rows_of(x, begin, end, 0),
                                      .dropout_rng = {},
                                      .residual = nullptr,
                                      .branch = elements<const T>(x),
                                      .weight = elements<const float>(scale.weight),
                                      .bias = elements<const float>(scale.bias),
                                      .epsilon = 0,
                                      .is_rms = false,
                                      .sum = nullptr,
                                      .out = elements<T>(y),
                                      .mean = elements<float>(kept[1]),
                                      .rstd = elements<float>(kept[2])});
    });
  });
  return y;
}

at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const RngKey& rng_key) {
  const ScopedOperationTimer timer(Operation::kNorm);
  check_norm(residual, norm.weight, norm.bias);
  TORCH_CHECK(residual.sizes() == branch.sizes(), "add_dropout_norm expects two (N, D), got ",
              residual.sizes(), " and ", branch.sizes());
  if (!has_norm_kernel(residual) || residual.scalar_type() != branch.scalar_type()) {
    return plain_norm(add_dropout(residual, branch, p, rng_key), norm);
  }
  if (!at::GradMode::is_enabled()) {
    return norm_forward(residual.contiguous(), branch.contiguous(), norm, dropout_rule(p, rng_key),
                        rng_key.first_row)
        .out;
  }
  return AddDropoutNorm::apply(residual, branch, norm.weight, optional(norm.bias), norm.epsilon,
                               norm.is_rms, dropout_rule(p, rng_key), rng_key.first_row);
}

}  // namespace weft::kernels
