#pragma once

#include <string>
#include <vector>

#include "models/config/part_options.h"
#include "models/ngram/counts.h"
#include "models/ngram/smoothing.h"
#include "models/ngram/tables.h"

namespace weft::models {

struct NgramEstimateInputs {
  NgramOptions options;
  /// Which tokens can follow (V): not those that begin a text or pad it.
  std::vector<bool> is_predicted = {};
  std::string directory = {};  // of temporary files
};

struct NgramEstimate {
  std::vector<NgramOrder> orders;
  std::vector<Discounts> discounts;  // of each order
};

/// Probabilities of a back-off model from counts. In its interpolated form, P(w|h) of an n-gram
/// that was seen has the lower order in it, so that one look-up gives it:
///
///   P(w|h) = (c - D(c)) / S(h) + gamma(h) P(w|h'),  back-off of h: gamma(h)
///
/// (Chen and Goodman 1999; smoothing.h). N-grams with a count of at most prune[k] are left out, and
/// gamma(h) has their mass. Computed in double precision. Throws UserError if discounts cannot be
/// estimated, FileError.
NgramEstimate estimate_ngrams(NgramCounts counts, const NgramEstimateInputs& inputs);

}  // namespace weft::models
