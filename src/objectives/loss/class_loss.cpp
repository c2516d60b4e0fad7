#include "objectives/loss/class_loss.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/cross_entropy.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"

namespace weft::objectives {

namespace {

std::vector<double> balanced(const ClassOptions& options,
                             const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts,
                             int64_t rows) {
  const auto present = static_cast<double>(counts.size()) -
                       static_cast<double>(std::count(counts.begin(), counts.end(), int64_t{0}));
  std::vector<double> weights;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    const auto all = static_cast<double>(rows);
    if (options.multi_label && (counts[i] == 0 || counts[i] == rows)) {
      throw config::Error(str_cat("objective.class_weights: balanced, but the class '", labels[i],
                                  "' is in ", counts[i] == 0 ? "none" : "all",
                                  " of the rows; give the weights by class name"));
    }
    // The weight of a class without rows does not matter.
    weights.push_back(options.multi_label ? (all - count) / count
                      : count == 0        ? 1
                                          : all / (present * count));
  }
  return weights;
}

/// (1 - p)^gamma for `losses` = -log p; the clamp keeps the gradient finite for gamma below 1.
at::Tensor focal_factor(const at::Tensor& losses, double gamma) {
  constexpr double kLeast = 1e-7;
  return (-at::expm1(-losses)).clamp_min(kLeast).pow(gamma);
}

}  // namespace

std::vector<double> class_weights(const ClassOptions& options,
                                  const std::vector<std::string>& labels,
                                  const std::vector<int64_t>& counts,
                                  int64_t rows) {
  if (options.class_weights.word == "balanced") {
    return balanced(options, labels, counts, rows);
  }
  if (options.class_weights.numbers.empty()) {
    return {};
  }
  std::vector<double> weights(labels.size(), 1);
  for (const auto& [name, weight] : options.class_weights.numbers) {
    const auto at = std::find(labels.begin(), labels.end(), name);
    if (at == labels.end()) {
      const auto near = did_you_mean(name, labels);
      throw config::Error(str_cat("objective.class_weights: '", name.substr(0, 100),
                                  "' is not one of the classes ", join(labels),
                                  near.empty() ? "" : str_cat(", did you mean '", near, "'?")));
    }
    weights[static_cast<std::size_t>(at - labels.begin())] = weight;
  }
  return weights;
}

at::Tensor class_loss_sum(const at::Tensor& logits,
                          const at::Tensor& labels,
                          const ClassLossOptions& options) {
  if (options.is_plain()) {
    return kernels::cross_entropy_sum(logits, labels);
  }
  const auto losses = -at::log_softmax(logits.to(at::kFloat), 1);     // (B, C)
  const auto own = losses.gather(1, labels.unsqueeze(1)).squeeze(1);  // (B)
  auto sum = options.focal_gamma > 0 ? own * focal_factor(own, options.focal_gamma) : own;
  auto spread = losses;  // for label smoothing (arXiv:1512.00567, section 7)
  if (!options.weights.empty()) {
    const auto weights = kernels::to_device(options.weights, logits.device());  // (C)
    sum = sum * weights.index_select(0, labels);
    spread = spread * weights;
  }
  sum = kernels::deterministic_sum(sum);
  return options.smoothing == 0
             ? sum
             : sum * (1 - options.smoothing) +
                   kernels::deterministic_sum(spread.mean(1)) * options.smoothing;
}

at::Tensor soft_target_loss_sum(const at::Tensor& logits,
                                const at::Tensor& soft_targets,
                                const ClassLossOptions& options) {
  const auto log_probabilities = at::log_softmax(logits.to(at::kFloat), 1);  // (B, C)
  auto targets = soft_targets * (1 - options.smoothing);
  if (options.focal_gamma > 0) {
    targets = targets * focal_factor(-log_probabilities, options.focal_gamma);
  }
  targets = targets + options.smoothing / static_cast<double>(logits.size(1));
  if (!options.weights.empty()) {
    targets = targets * kernels::to_device(options.weights, logits.device());
  }
  return kernels::deterministic_sum(-(log_probabilities * targets).sum(1));
}

at::Tensor bce_loss_sum(const at::Tensor& logits,
                        const at::Tensor& targets,
                        const ClassLossOptions& options) {
  const auto scores = logits.to(at::kFloat);
  const auto wanted = targets * (1 - options.smoothing) + options.smoothing / 2;
  const auto weights =
      options.weights.empty() ? at::Tensor() : kernels::to_device(options.weights, logits.device());
  const auto losses = at::binary_cross_entropy_with_logits(scores, wanted, {}, weights,
                                                           at::Reduction::None);  // (B, C)
  if (options.focal_gamma == 0) {
    return kernels::deterministic_sum(losses);
  }
  const auto plain =
      at::binary_cross_entropy_with_logits(scores, wanted, {}, {}, at::Reduction::None);
  return kernels::deterministic_sum(losses * focal_factor(plain, options.focal_gamma));
}

}  // namespace weft::objectives
