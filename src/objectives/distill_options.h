#pragma once

#include <string>

#include "config/section.h"
#include "data/datasets/masking.h"

namespace weft::objectives {

/// What a student learns besides matching its teacher.
enum class StudentObjective { kMlm, kCausal, kClassify };

/// Layers whose attention is compared: the last ones (MiniLM, arXiv:2002.10957), or each layer of
/// the student with the teacher's of the same relative depth (TinyBERT's g(m) = m N / M,
/// arXiv:1909.10351, section 4.1).
enum class LayerMap { kLast, kUniform };

/// Which teacher output is learned: its distribution, or only its most likely class
/// (arXiv:2012.12877, section 4).
enum class DistillationType { kSoft, kHard };

/// Knowledge distillation as in DistilBERT (arXiv:1910.01108, section 3). The weights are those of
/// the loss terms.
struct DistillOptions {
  StudentObjective student_objective = StudentObjective::kMlm;
  std::string teacher = {};    // a model directory
  double temperature = 2;      // of both distributions
  double alpha_kd = 5;         // divergence from the teacher's distribution
  double alpha_ce = 2;         // cross-entropy with the labels
  double alpha_cos = 1;        // cosine distance of last hidden states
  double alpha_attention = 0;  // divergence from the teacher's attention
  LayerMap layer_map = LayerMap::kLast;
  DistillationType distillation_type = DistillationType::kSoft;  // classify
  double label_smoothing = 0;                                    // of the labels; classify
  std::string positive_label = {};                               // as in ClassOptions; classify
  data::MaskOptions mask = {};                                   // mlm
};

/// Throws config::Error.
DistillOptions read_distill_options(config::Section& section);

}  // namespace weft::objectives
