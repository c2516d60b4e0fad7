#pragma once

#include <cstdint>

#include "models/config/options.h"
#include "objectives/objective.h"

namespace weft::train {

/// Rows that the parts of a model see in one step.
struct StepRows {
  int64_t tokens = 0;
  int64_t targets = 0;  // of language modelling
  int64_t sequences = 0;
};

/// Of the tokens those whose last hidden states someone reads. In the last layer the others cost
/// keys and values alone.
int64_t rows_read(const models::ModelOptions& model,
                  const objectives::Objective& objective,
                  const StepRows& rows);

/// Whether that spares their queries too: where attention is blind to places (nn::FullAttention).
bool spares_queries(const models::ModelOptions& model);

}  // namespace weft::train
