#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::objectives {

/// How the loss of a classification is shaped.
struct LossShape {
  double smoothing = 0;              // share of the target that is spread over all classes
  double focal_gamma = 0;            // arXiv:1708.02002, equation 4
  std::vector<double> weights = {};  // of the classes; empty: all alike

  bool is_plain() const { return smoothing == 0 && focal_gamma == 0 && weights.empty(); }
};

/// Sum over rows of the cross-entropy; logits (B, C), labels (B) int64. Weights and smoothing act
/// as in torch's CrossEntropyLoss, where a mean divides by the sum of the labels' weights.
at::Tensor class_loss_sum(const at::Tensor& logits,
                          const at::Tensor& labels,
                          const LossShape& shape);

/// The same where each row has shares of all classes, (B, C), in place of a label: images that were
/// mixed.
at::Tensor mixed_class_loss_sum(const at::Tensor& logits,
                                const at::Tensor& shares,
                                const LossShape& shape);

/// Sum over rows and classes of the binary cross-entropy; logits and targets (B, C). A weight is
/// that of a class that is there, as torch's BCEWithLogitsLoss has `pos_weight`.
at::Tensor flag_loss_sum(const at::Tensor& logits,
                         const at::Tensor& targets,
                         const LossShape& shape);

}  // namespace weft::objectives
