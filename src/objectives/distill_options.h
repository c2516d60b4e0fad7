#pragma once

#include <string>

namespace weft::objectives {

/// What a student learns beside what its teacher says.
enum class DistilledTask { kMlm, kCausal, kClassify };

/// Knowledge distillation as DistilBERT does it (arXiv:1910.01108, section 3). The weights are
/// those of the terms in the loss.
struct DistillOptions {
  DistilledTask task = DistilledTask::kMlm;
  std::string teacher = {};  // a model directory
  double temperature = 2;    // of both distributions
  double soft_weight = 5;    // divergence from the teacher's distribution
  double hard_weight = 2;    // cross-entropy of the right answer
  double hidden_weight = 1;  // cosine distance of last hidden states
};

}  // namespace weft::objectives
