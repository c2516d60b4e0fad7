#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "objectives/data/datasets.h"

namespace weft::objectives {

/// What the classes of a data set are, for messages and for the mistakes to look for.
struct ClassKind {
  std::string_view unit = "rows";  // what has a class
  bool may_be_imbalanced = true;   // each has one class, and none is the rest, like the tag O
  bool may_be_numbers = false;     // a regression could predict them
  bool may_be_lists = false;       // a name could list several classes
};

/// Adds to the remarks of `data` its classes with their numbers in the training data, and to the
/// warnings what may be a mistake: classes without examples in the training data or in the
/// evaluation data, names that differ only in case or surrounding spaces, names that list other
/// classes, strong imbalance.
/// `evaluated`: number of examples per class in the evaluation data; empty: there are none. No-op
/// without training data.
void report_classes(const ClassKind& kind, const std::vector<int64_t>& evaluated, Datasets& data);

}  // namespace weft::objectives
