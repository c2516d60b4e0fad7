#pragma once

#include "train/cost/ledger.h"

namespace weft::train {

/// What a student of words and its teacher say in a step of distillation (objectives/distill.h).
struct LessonSizes {
  // Elements.
  double logits = 0;     // (M, V)
  double states = 0;     // (N, D), of the student
  double taught = 0;     // (N, D), of the teacher
  double squares = 0;    // (H, L, L) of all sequences and all layers whose attention is compared
  double projected = 0;  // (N, 3 D) of these layers
  // Bytes.
  double rows = 0;             // what the student's head keeps between its states and logits
  double rows_of_teacher = 0;  // of the same, for a moment
  double output_gradient = 0;  // of the student's output matrix
  double element = 4;
  bool has_soft = true;
  bool has_hard = true;
  bool has_hidden = true;
};

/// From the states of both, held already, to the losses. The teacher's are gone then.
void lesson_forward(Ledger& ledger, const LessonSizes& sizes);
/// From the losses to the gradient of the student's states, in whose place it is, and that of the
/// output matrix.
void lesson_backward(Ledger& ledger, const LessonSizes& sizes);

}  // namespace weft::train
