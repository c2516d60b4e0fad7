#include "objectives/loss/attention_distance.h"

#include <limits>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/text.h"
#include "kernels/total.h"

namespace weft::objectives {

namespace {

/// Of one sequence, weights (H, L, L).
at::Tensor attention_distance_divergence(const at::Tensor& student, const at::Tensor& teacher) {
  if (student.size(0) != teacher.size(0)) {
    throw UserError(text("objective.attention_weight: attention of ", student.size(0),
                         " heads and the teacher's of ", teacher.size(0),
                         " cannot be compared, allowed is 0"));
  }
  // What neither looks at counts for nothing: 0 log 0.
  const auto said = student.clamp_min(std::numeric_limits<float>::min()).log();
  return kernels::total((at::xlogy(teacher, teacher) - teacher * said).sum(-1).mean(0));
}

}  // namespace

LayerPairs layer_pairs(AttentionPairs choice, int64_t student_layers, int64_t teacher_layers) {
  if (choice == AttentionPairs::kLast) {
    return {{student_layers - 1, teacher_layers - 1}};
  }
  if (teacher_layers % student_layers != 0) {
    throw UserError(text("objective.attention_layers: uniform, but ", student_layers,
                         " layers of the student do not divide ", teacher_layers,
                         " of the teacher, allowed is last"));
  }
  LayerPairs pairs;
  const auto step = teacher_layers / student_layers;
  for (int64_t layer = 0; layer < student_layers; ++layer) {
    pairs.emplace_back(layer, (layer + 1) * step - 1);
  }
  return pairs;
}

at::Tensor attention_divergence(const nn::AttentionTrace& student,
                                const nn::AttentionTrace& teacher,
                                const LayerPairs& pairs) {
  at::Tensor sum;
  for (const auto& [own, other] : pairs) {
    const auto& weights = student.layers().at(own);
    const auto& wanted = teacher.layers().at(other);
    for (std::size_t b = 0; b < weights.size(); ++b) {
      if (weights[b].size(1) == 0) {
        continue;
      }
      const auto of_sequence = attention_distance_divergence(weights[b], wanted[b]);
      sum = sum.defined() ? sum + of_sequence : of_sequence;
    }
  }
  return sum;
}

}  // namespace weft::objectives
