#include "kernels/cross_entropy.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/linear/product.h"
#include "kernels/operation_profiler.h"
#include "kernels/optimizer.h"
#include "kernels/reference.h"
#include "kernels/sum.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_targets(const at::Tensor& targets, int64_t classes) {
  if (!targets.device().is_cpu()) {
    return;
  }
  const auto* const target = elements<const int64_t>(targets);
  for (int64_t i = 0; i < targets.numel(); ++i) {
    TORCH_CHECK((target[i] >= 0 && target[i] < classes) || target[i] == cpu::kIgnoredTarget,
                "cross entropy expects targets in [0, ", classes, ") or -100, got ", target[i]);
  }
}

// Replaces logits with their gradients in place if requested; -> sum of the losses, fp32 scalar.
at::Tensor fused_rows(const at::Tensor& logits,
                      const at::Tensor& bias,
                      const at::Tensor& targets,
                      bool wants_gradient) {
  const int64_t rows = logits.size(0);
  const int64_t columns = logits.size(1);
  const int64_t stride = logits.stride(0);
  const auto losses = at::empty({rows}, logits.options().dtype(at::kFloat));
  const auto added = bias.defined() ? bias.to(logits.scalar_type()).contiguous() : bias;
  dispatch_element_type(logits, [&](auto element) {
    using T = decltype(element);
    for_each_range(logits, rows, row_grain(columns), [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(logits.is_cuda() ? 0 : cpu::round_up_16(columns));
      operations<T>(logits).cross_entropy_rows({.logits = elements<T>(logits) + begin * stride,
                                                .bias = elements<const T>(added),
                                                .targets = elements<const int64_t>(targets) + begin,
                                                .losses = elements<float>(losses) + begin,
                                                .scratch = scratch.data(),
                                                .rows = end - begin,
                                                .columns = columns,
                                                .stride = stride,
                                                .wants_gradient = wants_gradient});
    });
  });
  if (logits.is_cuda()) {
    return losses.sum();
  }
  const auto* const loss = elements<const float>(losses);
  return at::scalar_tensor(std::accumulate(loss, loss + rows, 0.0),
                           logits.options().dtype(at::kFloat));
}

// Same with ATen, for other devices and dtypes.
at::Tensor loss_plain_rows(const at::Tensor& logits,
                           const at::Tensor& bias,
                           const at::Tensor& targets,
                           bool wants_gradient) {
  auto scores = logits.to(accumulate_type(logits));
  if (bias.defined()) {
    scores = scores + bias.to(scores.scalar_type());
  }
  const auto log_probabilities = at::log_softmax(scores, 1);
  const auto counted = at::ne(targets, cpu::kIgnoredTarget).unsqueeze(1);  // (M, 1)
  const auto column = targets.clamp_min(0).unsqueeze(1);
  const auto losses = log_probabilities.gather(1, column).neg().masked_fill(~counted, 0.0);
  if (wants_gradient) {
    auto gradient = log_probabilities.exp_();
    gradient.scatter_add_(1, column, at::full_like(column, -1.0, gradient.options()));
    auto out = logits;
    at::mul_out(out, gradient, counted);
  }
  return losses.sum();
}

at::Tensor rows_loss(const at::Tensor& logits,
                     const at::Tensor& bias,
                     const at::Tensor& targets,
                     bool wants_gradient) {
  return has_fused_kernel(logits) ? fused_rows(logits, bias, targets, wants_gradient)
                                  : loss_plain_rows(logits, bias, targets, wants_gradient);
}

at::Tensor sum_of_rows(const at::Tensor& x) {
  return has_fused_kernel(x) ? column_sum(x) : x.sum(0, false, accumulate_type(x));
}

// Scales by the gradient of the loss, usually 1, without synchronising with the device.
at::Tensor scaled(const at::Tensor& gradient, const at::Tensor& factor) {
  if (!gradient.defined() || (factor.device().is_cpu() && factor.item<double>() == 1.0)) {
    return gradient;
  }
  return gradient * factor.to(gradient.scalar_type());
}

/// W, (V, D), on a GPU with rows of zeros added: its products are fast for multiples of eight only.
/// The logits of those rows are zeros too, and have no effect on other gradients.
at::Tensor padded(const at::Tensor& weight) {
  constexpr int64_t kMultiple = 64;
  const int64_t rest = weight.size(0) % kMultiple;
  return !weight.is_cuda() || rest == 0 ? weight
                                        : at::constant_pad_nd(weight, {0, 0, 0, kMultiple - rest});
}

/// The rows of a gradient that belong to `like`.
at::Tensor without_padding(const at::Tensor& gradient, const at::Tensor& like) {
  return !gradient.defined() || gradient.size(0) == like.size(0)
             ? gradient
             : gradient.narrow(0, 0, like.size(0));
}

/// A GPU needs more rows to be busy; they are divided equally.
int64_t chunk_rows_on(const at::Device& device, int64_t rows, const at::Tensor& weight) {
  constexpr int64_t kGpuBytes = int64_t{1} << 30U;
  if (!device.is_cuda()) {
    return logit_chunk_rows(weight.size(0), weight.size(1), weight.element_size());
  }
  const int64_t most = std::max<int64_t>(1, kGpuBytes / (weight.size(0) * weight.element_size()));
  const int64_t chunks = std::max<int64_t>(1, divide_up(rows, most));
  return divide_up(rows, chunks);
}

struct LossWanted {
  bool x = false;
  bool weight = false;
  bool bias = false;
  bool any() const { return x || weight || bias; }
};

// Accumulates the results of the chunks, in fp32 unless there is only one chunk.
class ChunkSum {
 public:
  ChunkSum(bool is_wanted, bool is_alone) : is_wanted_(is_wanted), is_alone_(is_alone) {}

  template <class Part>
  void add(const Part& part) {
    if (!is_wanted_) {
      return;
    }
    const at::Tensor value = part();
    if (is_alone_) {
      sum_ = value;
    } else if (sum_.defined() && sum_.scalar_type() == at::kFloat) {
      accumulate_and_zero(sum_, value);
    } else if (sum_.defined()) {
      sum_.add_(value);
    } else {
      sum_ = value.to(accumulate_type(value));
    }
  }

  at::Tensor result(const at::Tensor& like) const {
    if (!is_wanted_) {
      return {};
    }
    return sum_.defined() ? sum_.to(like.scalar_type()) : at::zeros_like(like);
  }

 private:
  bool is_wanted_;
  bool is_alone_;
  at::Tensor sum_;
};

class LinearCrossEntropy : public torch::autograd::Function<LinearCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const at::Tensor& weight,
                            const at::Tensor& targets,
                            const std::optional<at::Tensor>& given_bias,
                            const LossWanted& wanted) {
    const auto bias = given_bias.value_or(at::Tensor());
    const int64_t rows = x.size(0);
    const int64_t chunk = chunk_rows_on(x.device(), rows, weight);
    auto loss = at::zeros({}, x.options().dtype(accumulate_type(x)));
    at::Tensor dx = wanted.x ? at::empty_like(x) : at::Tensor();
    const auto whole_weight = padded(weight);  // (V', D)
    ChunkSum dweight(wanted.weight, rows <= chunk);
    ChunkSum dbias(wanted.bias, rows <= chunk);
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t size = std::min(chunk, rows - begin);
      const auto part = x.narrow(0, begin, size);
      const auto whole_logits = product(part, whole_weight.t());      // (m, V')
      const auto logits = whole_logits.narrow(1, 0, weight.size(0));  // (m, V)
      loss += rows_loss(logits, bias, targets.narrow(0, begin, size), wanted.any());
      if (wanted.x) {
        dx.narrow(0, begin, size).copy_(product(whole_logits, whole_weight));
      }
      dweight.add([&] { return product(whole_logits.t(), part); });
      dbias.add([&] { return sum_of_rows(whole_logits); });
    }
    context->save_for_backward({dx, without_padding(dweight.result(weight), weight),
                                without_padding(dbias.result(bias), bias)});
    return loss;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    return {scaled(saved[0], gradients[0]),
            scaled(saved[1], gradients[0]),
            {},
            scaled(saved[2], gradients[0]),
            {}};
  }
};

class CrossEntropySum : public torch::autograd::Function<CrossEntropySum> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& logits,
                            const at::Tensor& targets,
                            bool wants_gradient) {
    const auto work =
        wants_gradient ? logits.clone(at::MemoryFormat::Contiguous) : logits.contiguous();
    const auto loss = rows_loss(work, {}, targets, wants_gradient);
    context->save_for_backward({wants_gradient ? work : at::Tensor()});
    return loss;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {scaled(context->get_saved_variables()[0], gradients[0]), {}, {}};
  }
};

bool needs_gradient(const at::Tensor& x) {
  return at::GradMode::is_enabled() && x.defined() && x.requires_grad();
}

}  // namespace

int64_t logit_chunk_rows(int64_t classes, int64_t width, int64_t element_bytes) {
  constexpr int64_t kMin = int64_t{16} << 20U;
  constexpr int64_t kMax = int64_t{64} << 20U;
  const int64_t row = std::max<int64_t>(1, classes * element_bytes);
  return std::max<int64_t>(1, std::clamp(2 * width * row, kMin, kMax) / row);
}

at::Tensor linear_cross_entropy(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets) {
  const ScopedOperationTimer timer(Operation::kLoss);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1) &&
                  targets.dim() == 1 && targets.size(0) == x.size(0) &&
                  targets.scalar_type() == at::kLong,
              "linear_cross_entropy expects x (M, D), weight (V, D) and targets (M) int64, got ",
              x.sizes(), ", ", weight.sizes(), " and ", targets.sizes());
  check_targets(targets.contiguous(), weight.size(0));
  const LossWanted wanted{
      .x = needs_gradient(x), .weight = needs_gradient(weight), .bias = needs_gradient(bias)};
  return LinearCrossEntropy::apply(x, weight, targets.contiguous(), optional(bias), wanted);
}

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets) {
  const ScopedOperationTimer timer(Operation::kLoss);
  TORCH_CHECK(logits.dim() == 2 && targets.dim() == 1 && targets.size(0) == logits.size(0) &&
                  targets.scalar_type() == at::kLong,
              "cross_entropy_sum expects logits (M, C) and targets (M) int64, got ", logits.sizes(),
              " and ", targets.sizes());
  check_targets(targets.contiguous(), logits.size(1));
  return CrossEntropySum::apply(logits, targets.contiguous(), needs_gradient(logits));
}

at::Tensor label_smoothing_term(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets) {
  const ScopedOperationTimer timer(Operation::kLoss);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1) &&
                  targets.dim() == 1 && targets.size(0) == x.size(0),
              "label_smoothing_term expects x (M, D), weight (V, D) and targets (M), got ",
              x.sizes(), ", ", weight.sizes(), " and ", targets.sizes());
  const auto type = accumulate_type(x);
  const auto rows = x.to(type);                                   // (M, D)
  const auto wanted = weight.index_select(0, targets).to(type);   // (M, D)
  const auto mean = weight.sum(0, false, type) / weight.size(0);  // (D)
  auto lead = (rows * wanted).sum() - rows.sum(0).dot(mean);
  if (bias.defined()) {
    const auto values = bias.to(type);
    lead = lead + values.index_select(0, targets).sum() - values.mean() * targets.size(0);
  }
  return lead;
}

}  // namespace weft::kernels
