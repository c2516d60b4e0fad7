#include "objectives/data/datasets.h"

#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "config/section.h"
#include "data/datasets/labelled_dataset.h"
#include "data/images/image_dataset.h"
#include "data/text/near_duplicates.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "objectives/data/class_report.h"

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

}  // namespace

int64_t DatasetInputs::length() const {
  const auto limit = models::text_length(model);
  const int64_t length = data.length.value_or(limit);
  if (length > limit) {
    throw config::Error(
        str_cat("data.length: ", length, " is more than the maximum of ", limit,
                model.document ? " tokens of a document's sentences" : " positions of the model"));
  }
  return length;
}

void add_remarks(const std::string& which, const data::Dataset& dataset, Datasets& datasets) {
  for (const auto& remark : dataset.remarks()) {
    datasets.remarks.push_back(str_cat(which, ": ", remark));
  }
}

Datasets datasets_by(const DatasetInputs& inputs, const DatasetMaker& make) {
  Datasets result;
  if (!inputs.data.train.empty()) {
    result.train = make(inputs.data.train, inputs.data, true);
    add_remarks("train", *result.train, result);
  }
  if (!inputs.data.evaluate.empty()) {
    auto plain = inputs.data;
    plain.languages = {};
    result.evaluate = make(inputs.data.evaluate, plain, false);
    add_remarks("evaluate", *result.evaluate, result);
  }
  return result;
}

Datasets image_datasets(const DatasetInputs& inputs,
                        const std::optional<data::MaskedImageOptions>& mask) {
  auto settings = batching::image_settings(inputs.model, inputs.data.images, *inputs.tokenizer);
  settings.seed = inputs.seed;
  settings.mask = mask;
  if (!mask) {
    settings.labels = inputs.model.labels;
  }
  Datasets result;
  std::vector<int64_t> evaluated;
  if (!inputs.data.train.empty()) {
    auto training = settings;
    training.augment = inputs.data.augment;
    training.may_replace_labels = true;
    const auto train = data::make_image_dataset(inputs.data.train, training);
    settings.labels = train->labels();
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    add_remarks("train", *train, result);
    result.train = train;
  }
  if (!inputs.data.evaluate.empty()) {
    const auto evaluate = data::make_image_dataset(inputs.data.evaluate, settings);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate, result);
    evaluated = evaluate->class_counts();
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  if (!mask) {
    report_classes({.unit = "images"}, evaluated, result);
  }
  return result;
}

Datasets labelled_datasets(const DatasetInputs& inputs, const data::LabelFormat& label_format) {
  data::LabelledSettings settings{
      .length = inputs.length(),
      .truncation = inputs.data.truncation.value_or(data::Truncation::kTruncate),
      .has_token_type_ids = models::uses_token_type_ids(inputs.model),
      .label_format = label_format,
      .labels = {},
      .languages = batching::languages_of(inputs.model),
      .sentences = batching::sentence_limits(inputs.model, inputs.length())};
  if (label_format.is_regression == inputs.model.is_regression) {
    settings.labels = inputs.model.labels;
  }
  Datasets result;
  std::vector<int64_t> evaluated;
  std::shared_ptr<const data::LabelledDataset> train_texts;
  if (!inputs.data.train.empty()) {
    auto training = settings;
    training.may_replace_labels = true;
    const auto train = make_labelled_dataset(inputs.data.train, training, inputs.tokenizer);
    settings.labels = train->labels();
    add_remarks("train", *train, result);
    train_texts = train;
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    check_pairs(inputs, *train);
    result.train = train;
  }
  if (!inputs.data.evaluate.empty()) {
    const auto evaluate = make_labelled_dataset(inputs.data.evaluate, settings, inputs.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate, result);
    if (train_texts) {
      if (const auto warning = near_duplicate_warning(*train_texts, *evaluate)) {
        result.warnings.push_back(*warning);
      }
    }
    evaluated = evaluate->class_counts();
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  if (!label_format.is_regression) {
    const bool is_single_label = !label_format.is_multi_label;
    report_classes({.may_be_imbalanced = is_single_label,
                    .may_be_numbers = is_single_label,
                    .may_be_lists = true},
                   evaluated, result);
  }
  return result;
}

}  // namespace weft::objectives
