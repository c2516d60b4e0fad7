#include "train/cost/step_rows.h"

#include "models/config/family_definition.h"
#include "models/config/traits.h"
#include "objectives/distill.h"

namespace weft::train {

using objectives::ObjectiveType;

int64_t rows_read(const models::ModelOptions& model,
                  const objectives::ObjectiveOptions& objective,
                  const StepRows& rows) {
  switch (objective.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kTranslationLm:
      return rows.targets + (objective.pair == data::PairTask::kNone ? 0 : rows.sequences);
    case ObjectiveType::kTag:
    case ObjectiveType::kMaskedImage:
      return rows.targets;
    case ObjectiveType::kCausal:
    case ObjectiveType::kPrefix:
    case ObjectiveType::kSeq2Seq:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
      return models::is_encoder_decoder(model) ? rows.tokens : rows.targets;
    case ObjectiveType::kReplacedToken:
      return rows.tokens;
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress: {
      const bool reads_all = model.uses_mean_pooling || models::is_encoder_decoder(model) ||
                             model.head == models::Head::kDistilledImage;
      return reads_all ? rows.tokens : rows.sequences;
    }
    case ObjectiveType::kDistill: {
      const auto task = objectives::student_objective_options(objective);
      const bool compares_all =
          objectives::predicts_tokens(task) && objective.distill.alpha_cos > 0;
      return compares_all ? rows.tokens : rows_read(model, task, rows);
    }
  }
  return rows.tokens;
}

bool spares_queries(const models::ModelOptions& model) {
  const auto& family = models::definition_of(model.family);
  const bool is_encoder = family.uses_bert_head || family.reads_images ||
                          models::capabilities_of(model.family).has_language_ids;
  return is_encoder && model.rope.theta == 0;
}

}  // namespace weft::train
