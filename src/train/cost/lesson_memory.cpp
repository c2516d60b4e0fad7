#include "train/cost/lesson_memory.h"

#include <algorithm>

namespace weft::train {

namespace {

constexpr double kFp32 = 4;

/// The copy in fp32, where it is one.
double wide(double elements, const LessonSizes& sizes) {
  return sizes.element < kFp32 ? kFp32 * elements : 0;
}

// Of both the logarithms, of the teacher's the exponents, and what they are multiplied with.
void soft_forward(Ledger& ledger, const LessonSizes& sizes) {
  const double whole = kFp32 * sizes.logits;
  const double narrow = wide(sizes.logits, sizes);
  for (int side = 0; side < 2; ++side) {
    ledger.touch(std::max(narrow + whole, 2 * whole));
    ledger.hold(whole);
  }
  ledger.hold(whole);
  ledger.touch(2 * whole);
  ledger.release(whole);
}

void soft_backward(Ledger& ledger, const LessonSizes& sizes) {
  const double whole = kFp32 * sizes.logits;
  ledger.hold(whole);
  ledger.release(whole);  // the exponents
  ledger.touch(whole);
  ledger.hold(whole);
  ledger.release(2 * whole);  // the logarithms
  ledger.touch(whole);
  ledger.hold(sizes.element * sizes.logits);
  ledger.release(whole);
}

void hidden_forward(Ledger& ledger, const LessonSizes& sizes) {
  const double own = kFp32 * sizes.states;
  ledger.hold(wide(sizes.states, sizes));
  ledger.touch(wide(sizes.taught, sizes) + 3 * own);
  ledger.hold(own);  // the teacher's, of length 1
}

// Of both what the forward pass kept goes: the student's in fp32, and the teacher's.
void hidden_backward(Ledger& ledger, const LessonSizes& sizes) {
  const double own = kFp32 * sizes.states;
  ledger.touch(3 * own);
  ledger.release(2 * own);
  ledger.hold(sizes.element * sizes.states);
}

/// Queries, keys and values once more, the weights of both, and the student's without zeros.
double watched(const LessonSizes& sizes) { return kFp32 * (sizes.projected + 3 * sizes.squares); }

}  // namespace

void lesson_forward(Ledger& ledger, const LessonSizes& sizes) {
  const double logits = sizes.element * sizes.logits;
  ledger.hold(watched(sizes));
  ledger.touch(sizes.rows_of_teacher + logits);
  ledger.hold(logits);
  ledger.hold(sizes.rows + logits);
  if (sizes.has_soft) {
    soft_forward(ledger, sizes);
  }
  if (sizes.has_hard) {
    ledger.hold(logits);
  }
  if (sizes.has_hidden) {
    hidden_forward(ledger, sizes);
  }
  ledger.release(2 * logits + sizes.element * sizes.taught);
  const bool keeps_states = sizes.has_hidden && wide(sizes.states, sizes) == 0;
  ledger.release(keeps_states ? 0 : sizes.element * sizes.states);
}

void lesson_backward(Ledger& ledger, const LessonSizes& sizes) {
  const double logits = sizes.element * sizes.logits;
  const double gradient = sizes.element * sizes.states;
  if (sizes.has_hidden) {
    hidden_backward(ledger, sizes);
  }
  if (sizes.has_hard) {
    ledger.touch(logits);
  }
  if (sizes.has_soft) {
    soft_backward(ledger, sizes);
  }
  ledger.release(sizes.has_soft && sizes.has_hard ? logits : 0);  // one gradient of both
  if (sizes.has_soft || sizes.has_hard) {
    ledger.hold(sizes.output_gradient);
    ledger.release(logits);
    sizes.has_hidden ? ledger.touch(gradient) : ledger.hold(gradient);
  }
  ledger.release(sizes.rows + watched(sizes));
}

}  // namespace weft::train
