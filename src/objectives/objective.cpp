#include "objectives/objective.h"

#include "base/string_util.h"
#include "data/datasets/language_dataset.h"
#include "data/rows/parallel_reader.h"
#include "objectives/data/training_texts.h"
#include "objectives/objective_registry.h"

namespace weft::objectives {

Datasets Objective::make_datasets(const DatasetInputs& inputs) const {
  if (const auto wrong = find_incompatibility(*this, inputs.model)) {
    throw config::Error(str_cat("objective.", wrong->key, ": ", wrong->message));
  }
  return read_datasets(inputs);
}

data::LabelFormat Objective::label_format(const data::DataOptions& data) const {
  return {.separator = data.label_separator.value_or(""), .unlabelled = data.unlabelled};
}

data::LanguageCodes Objective::language_codes(const data::DataOptions& data) const {
  return language_codes_of(data);
}

void Objective::visit_training_texts(const TrainingTexts& texts,
                                     const data::TextVisitor& visit) const {
  if (reads_pairs(texts.data, texts.model)) {
    data::visit_parallel_texts(texts.data.train, visit);
  } else {
    data::visit_texts(texts.data.train, texts.data, visit);
  }
}

}  // namespace weft::objectives
