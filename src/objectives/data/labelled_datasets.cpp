#include "objectives/data/labelled_datasets.h"

#include "base/string_util.h"
#include "batching/token_type_ids.h"
#include "config/section.h"
#include "data/datasets/labelled_dataset.h"
#include "data/text/near_duplicates.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "objectives/data/training_texts.h"

namespace weft::objectives {

namespace {

void check_pairs(const DatasetInputs& inputs, const data::LabelledDataset& texts) {
  if (models::capabilities_of(inputs.model.family).requires_text_pairs &&
      texts.texts(0, 0).size() < 2) {
    throw config::Error(str_cat(
        "model.type: ", models::word_of(inputs.model.family),
        " needs two texts, but the training data have one per row: set the column of the second "
        "text with `text_pair:`"));
  }
}

/// Evaluation files: data.evaluate or, with folds, the training files (one fold of them).
std::vector<data::DataItem> evaluation_items(const data::DataOptions& options) {
  if (!options.folds) {
    return options.evaluate;
  }
  auto items = options.train;
  for (auto& item : items) {
    item.weight = 1;  // each row once
  }
  return items;
}

}  // namespace

Datasets labelled_datasets(const DatasetInputs& inputs, const data::LabelFormat& label_format) {
  data::LabelledSettings settings{
      .length = inputs.length(),
      .truncation = inputs.data.truncation.value_or(data::Truncation::kTruncate),
      .has_token_type_ids = models::uses_token_type_ids(inputs.model),
      .label_format = label_format,
      .fold = fold_of_run(inputs.data, inputs.seed),
      .labels = {},
      .languages = batching::languages_of(inputs.model)};
  if (label_format.is_regression == inputs.model.is_regression) {
    settings.labels = inputs.model.labels;
  }
  Datasets result;
  std::shared_ptr<const data::LabelledDataset> train_texts;
  if (!inputs.data.train.empty()) {
    const auto train = make_labelled_dataset(inputs.data.train, settings, inputs.tokenizer);
    settings.labels = train->labels();
    add_remarks("train", *train, result);
    train_texts = train;
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    check_pairs(inputs, *train);
    result.train = train;
  }
  if (const auto items = evaluation_items(inputs.data); !items.empty()) {
    settings.fold.is_held_out = true;
    const auto evaluate = make_labelled_dataset(items, settings, inputs.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate, result);
    if (train_texts) {
      if (const auto warning = near_duplicate_warning(*train_texts, *evaluate)) {
        result.warnings.push_back(*warning);
      }
    }
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  return result;
}

}  // namespace weft::objectives
