#include "objectives/loss/class_loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "batching/rows.h"
#include "kernels/cross_entropy.h"
#include "kernels/to_device.h"
#include "kernels/total.h"

namespace weft::objectives {

namespace {

/// (1 - p)^gamma where `losses` are -log p; the least distance keeps the slope of powers below 1
/// finite.
at::Tensor focal_factor(const at::Tensor& losses, double gamma) {
  constexpr double kLeast = 1e-7;
  return (-at::expm1(-losses)).clamp_min(kLeast).pow(gamma);
}

}  // namespace

at::Tensor class_loss_sum(const at::Tensor& logits,
                          const at::Tensor& labels,
                          const LossShape& shape) {
  if (shape.is_plain()) {
    return kernels::cross_entropy_sum(logits, labels);
  }
  const auto losses = -at::log_softmax(logits.to(at::kFloat), 1);     // (B, C)
  const auto own = losses.gather(1, labels.unsqueeze(1)).squeeze(1);  // (B)
  auto sum = shape.focal_gamma > 0 ? own * focal_factor(own, shape.focal_gamma) : own;
  auto spread = losses;  // towards the uniform distribution (arXiv:1512.00567, section 7)
  if (!shape.weights.empty()) {
    const auto weights = kernels::to_device(shape.weights, logits.device());  // (C)
    sum = sum * weights.index_select(0, labels);
    spread = spread * weights;
  }
  sum = kernels::total(sum);
  return shape.smoothing == 0
             ? sum
             : sum * (1 - shape.smoothing) + kernels::total(spread.mean(1)) * shape.smoothing;
}

at::Tensor mixed_class_loss_sum(const at::Tensor& logits,
                                const at::Tensor& shares,
                                const LossShape& shape) {
  const auto wanted =
      shares * (1 - shape.smoothing) + shape.smoothing / static_cast<double>(logits.size(1));
  return kernels::total(-(at::log_softmax(logits.to(at::kFloat), 1) * wanted).sum(1));
}

at::Tensor flag_loss_sum(const at::Tensor& logits,
                         const at::Tensor& targets,
                         const LossShape& shape) {
  const auto scores = logits.to(at::kFloat);
  const auto wanted = targets * (1 - shape.smoothing) + shape.smoothing / 2;
  const auto weights =
      shape.weights.empty() ? at::Tensor() : kernels::to_device(shape.weights, logits.device());
  const auto losses = at::binary_cross_entropy_with_logits(scores, wanted, {}, weights,
                                                           at::Reduction::None);  // (B, C)
  if (shape.focal_gamma == 0) {
    return kernels::total(losses);
  }
  const auto plain =
      at::binary_cross_entropy_with_logits(scores, wanted, {}, {}, at::Reduction::None);
  return kernels::total(losses * focal_factor(plain, shape.focal_gamma));
}

}  // namespace weft::objectives
