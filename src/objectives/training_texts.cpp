#include "objectives/training_texts.h"

#include <algorithm>

#include "data/folds.h"
#include "data/language_dataset.h"
#include "data/parallel_reader.h"
#include "data/tagged_rows.h"

namespace weft::objectives {

data::LabelForm label_form(const ObjectiveOptions& objective, const data::DataOptions& options) {
  const bool is_regression = objective.type == ObjectiveType::kRegress;
  return {.is_regression = is_regression,
          .is_multi_label = !is_regression && objective.classes.multi_label,
          .separator = options.label_separator.value_or(""),
          .unlabelled = options.unlabelled};
}

data::Fold fold_of_run(const data::DataOptions& options, uint64_t seed) {
  if (!options.folds) {
    return {};
  }
  return {.count = *options.folds, .number = options.fold, .seed = seed};
}

bool reads_pairs(const ObjectiveOptions& objective, const data::DataOptions& options) {
  const auto names_sides = [](const data::DataItem& item) { return item.source || item.target; };
  return objective.type == ObjectiveType::kSeq2Seq ||
         objective.type == ObjectiveType::kTranslationLm ||
         (objective.type == ObjectiveType::kPrefix &&
          std::any_of(options.train.begin(), options.train.end(), names_sides));
}

void visit_training_texts(const ObjectiveOptions& objective,
                          const data::DataOptions& options,
                          uint64_t seed,
                          const data::TextVisitor& visit) {
  if (objective.type == ObjectiveType::kTag) {
    data::visit_tagged_texts(options.train, visit);
  } else if (reads_pairs(objective, options)) {
    data::visit_parallel_texts(options.train, visit);
  } else if (options.folds) {
    data::visit_texts_outside(fold_of_run(options, seed), options.train,
                              label_form(objective, options), visit);
  } else {
    data::visit_texts(options.train, options, visit);
  }
}

}  // namespace weft::objectives
