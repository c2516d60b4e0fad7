#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "objectives/loss/class_options.h"

namespace weft::objectives {

/// Class weights, in the order of the ids; empty if all are equal. Throws config::Error for an
/// unknown class name, and if the classes cannot be balanced.
std::vector<double> class_weights(const ClassOptions& options,
                                  const std::vector<std::string>& labels,
                                  const std::vector<int64_t>& counts,
                                  int64_t rows);

/// Shape of a classification loss.
struct ClassLossOptions {
  double smoothing = 0;              // fraction of the target that is spread over all classes
  double focal_gamma = 0;            // arXiv:1708.02002, equation 4
  std::vector<double> weights = {};  // of the classes; empty: all equal

  bool is_plain() const { return smoothing == 0 && focal_gamma == 0 && weights.empty(); }
};

/// Sum over rows of the cross-entropy; logits (B, C), labels (B) int64. Weights and smoothing act
/// as in torch's CrossEntropyLoss, where a mean divides by the sum of the labels' weights.
at::Tensor class_loss_sum(const at::Tensor& logits,
                          const at::Tensor& labels,
                          const ClassLossOptions& options);

/// The same for soft targets (B, C), fractions of all classes, as Mixup and CutMix make them: as
/// torch's CrossEntropyLoss with class probabilities, where a mean divides by the number of rows
/// also when classes have weights. One-hot rows give the loss of their labels.
at::Tensor soft_target_loss_sum(const at::Tensor& logits,
                                const at::Tensor& soft_targets,
                                const ClassLossOptions& options);

/// Sum over rows and classes of the binary cross-entropy; logits and targets (B, C). Weights apply
/// to positive targets, like `pos_weight` of torch's BCEWithLogitsLoss.
at::Tensor bce_loss_sum(const at::Tensor& logits,
                        const at::Tensor& targets,
                        const ClassLossOptions& options);

}  // namespace weft::objectives
