#include "train/cost/step_rows.h"

#include "models/config/family_definition.h"
#include "models/config/traits.h"

namespace weft::train {

int64_t rows_read(const models::ModelOptions& model,
                  const objectives::Objective& objective,
                  const StepRows& rows) {
  switch (objective.traits(model).states_read) {
    case objectives::StatesRead::kAll:
      return rows.tokens;
    case objectives::StatesRead::kTargets:
      return rows.targets;
    case objectives::StatesRead::kSequences:
      return rows.sequences;
    case objectives::StatesRead::kTargetsAndSequences:
      return rows.targets + rows.sequences;
  }
  return rows.tokens;
}

bool spares_queries(const models::ModelOptions& model) {
  const auto& family = models::definition_of(model.family);
  const bool is_encoder = family.uses_bert_head || family.reads_images ||
                          models::capabilities_of(model.family).has_language_ids;
  return is_encoder && model.modern.theta == 0;
}

}  // namespace weft::train
