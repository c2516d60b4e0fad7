#pragma once

#include <string>

namespace weft::objectives {

/// What a student learns beside what its teacher says.
enum class DistilledTask { kMlm, kCausal, kClassify };

/// Which layers' attention is compared: the last ones (MiniLM, arXiv:2002.10957), or each layer of
/// the student with the teacher's of the same relative depth (TinyBERT's g(m) = m N / M,
/// arXiv:1909.10351, section 4.1).
enum class AttentionPairs { kLast, kUniform };

/// What counts as the teacher's answer: its distribution, or its likeliest class alone
/// (arXiv:2012.12877, section 4).
enum class TeacherAnswer { kSoft, kHard };

/// Knowledge distillation as DistilBERT does it (arXiv:1910.01108, section 3). The weights are
/// those of the terms in the loss.
struct DistillOptions {
  DistilledTask task = DistilledTask::kMlm;
  std::string teacher = {};     // a model directory
  double temperature = 2;       // of both distributions
  double soft_weight = 5;       // divergence from the teacher's distribution
  double hard_weight = 2;       // cross-entropy of the right answer
  double hidden_weight = 1;     // cosine distance of last hidden states
  double attention_weight = 0;  // divergence from the teacher's attention
  AttentionPairs attention_layers = AttentionPairs::kLast;
  TeacherAnswer teacher_answer = TeacherAnswer::kSoft;  // classify
  double label_smoothing = 0;                           // of the right answer; classify
};

}  // namespace weft::objectives
