#include "objectives/loss/attention_distillation.h"

#include <limits>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/sum.h"

namespace weft::objectives {

namespace {

/// For one sequence, weights (H, L, L).
at::Tensor attention_distance_divergence(const at::Tensor& student, const at::Tensor& teacher) {
  if (student.size(0) != teacher.size(0)) {
    throw UserError(str_cat("objective.alpha_attention: the student's ", student.size(0),
                            " heads and the teacher's ", teacher.size(0),
                            " cannot be compared, allowed is 0"));
  }
  // Positions that neither attends to contribute 0: 0 log 0 = 0.
  const auto student_log_weights = student.clamp_min(std::numeric_limits<float>::min()).log();
  return kernels::deterministic_sum(
      (at::xlogy(teacher, teacher) - teacher * student_log_weights).sum(-1).mean(0));
}

}  // namespace

LayerPairs layer_pairs(LayerMap choice, int64_t student_layers, int64_t teacher_layers) {
  if (choice == LayerMap::kLast) {
    return {{student_layers - 1, teacher_layers - 1}};
  }
  if (teacher_layers % student_layers != 0) {
    throw UserError(str_cat("objective.layer_map: uniform, but the number of student layers (",
                            student_layers, ") does not divide that of the teacher (",
                            teacher_layers, "), allowed is last"));
  }
  LayerPairs pairs;
  const auto step = teacher_layers / student_layers;
  for (int64_t layer = 0; layer < student_layers; ++layer) {
    pairs.emplace_back(layer, (layer + 1) * step - 1);
  }
  return pairs;
}

at::Tensor attention_divergence(const nn::AttentionRecorder& student,
                                const nn::AttentionRecorder& teacher,
                                const LayerPairs& pairs) {
  at::Tensor sum;
  for (const auto& [own, other] : pairs) {
    const auto& weights = student.layers().at(own);
    const auto& teacher_weights = teacher.layers().at(other);
    for (std::size_t b = 0; b < weights.size(); ++b) {
      if (weights[b].size(1) == 0) {
        continue;
      }
      const auto of_sequence = attention_distance_divergence(weights[b], teacher_weights[b]);
      sum = sum.defined() ? sum + of_sequence : of_sequence;
    }
  }
  return sum;
}

}  // namespace weft::objectives
