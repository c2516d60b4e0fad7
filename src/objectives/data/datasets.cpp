#include "base/string_util.h"
#include "batching/image_settings.h"
#include "batching/token_type_ids.h"
#include "data/datasets/labelled_dataset.h"
#include "data/datasets/tagged_dataset.h"
#include "data/text/near_duplicates.h"
#include "models/config/family_definition.h"
#include "objectives/data/image_datasets.h"
#include "objectives/data/raw_text_datasets.h"
#include "objectives/data/training_texts.h"
#include "objectives/distill.h"
#include "objectives/loss/teacher.h"
#include "objectives/objective.h"
#include "objectives/seq2seq.h"

namespace weft::objectives {

namespace {

struct DatasetInputs {
  const ObjectiveOptions& objective;
  const data::DataOptions& options;
  const models::ModelOptions& model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  uint64_t seed;
  const data::ProgressVisitor& progress;
  int64_t length;

  bool has_token_type_ids() const { return models::uses_token_type_ids(model); }
  std::vector<std::string> languages() const { return batching::languages_of(model); }
};

/// Maximum sequence length: as configured, at most the model's.
int64_t sequence_length(const data::DataOptions& options, const models::ModelOptions& model) {
  const int64_t length = options.length.value_or(model.length);
  if (length > model.length) {
    throw config::Error(str_cat("data.length: ", length, " is more than the maximum of ",
                                model.length, " positions of the model"));
  }
  return length;
}

void add_remarks(std::vector<std::string>& remarks,
                 const std::string& which,
                 const data::Dataset& dataset) {
  for (const auto& remark : dataset.remarks()) {
    remarks.push_back(which + ": " + remark);
  }
}

Datasets language_datasets(const DatasetInputs& inputs) {
  const data::LanguageSettings settings{.length = inputs.length,
                                        .pair = inputs.objective.pair,
                                        .mask = inputs.objective.mask,
                                        .has_token_type_ids = inputs.has_token_type_ids(),
                                        .seed = inputs.seed,
                                        .languages = inputs.languages()};
  const auto make = [&](const std::vector<data::DataItem>& items,
                        const data::DataOptions& options) {
    return make_language_dataset(items, options, settings, inputs.tokenizer, inputs.progress);
  };
  auto plain = inputs.options;
  plain.languages = {};  // an evaluation sees each text once
  Datasets result;
  result.train =
      inputs.options.train.empty() ? nullptr : make(inputs.options.train, inputs.options);
  result.evaluate =
      inputs.options.evaluate.empty() ? nullptr : make(inputs.options.evaluate, plain);
  if (result.train) {
    add_remarks(result.remarks, "train", *result.train);
  }
  if (result.evaluate) {
    add_remarks(result.remarks, "evaluate", *result.evaluate);
  }
  return result;
}

/// Checks that the data and the model have the classes that the objective needs.
void check_classes(const DatasetInputs& inputs, const Datasets& data) {
  const auto& classes = inputs.objective.classes;
  if (inputs.objective.type != ObjectiveType::kClassify) {
    return;
  }
  if (data.labels.size() < 2 && !classes.multi_label) {
    throw config::Error(str_cat("objective.type: classify, but the data have only one class (",
                                join(data.labels), "), there must be at least two"));
  }
  const bool has_threshold = classes.threshold || classes.tune_threshold;
  if (has_threshold && !classes.multi_label && data.labels.size() != 2) {
    throw config::Error(str_cat("objective.", classes.threshold ? "threshold" : "tune_threshold",
                                ": there are ", data.labels.size(),
                                " classes, of which the most likely is predicted; allowed with two "
                                "classes or with multi_label: true"));
  }
  if (classes.tune_threshold && !data.evaluate) {
    throw config::Error(
        "objective.tune_threshold: there is no data.evaluate to tune the threshold on");
  }
}

void check_pairs(const DatasetInputs& inputs, const data::LabelledDataset& texts) {
  if (inputs.model.family == models::Family::kDecomposableAttention &&
      texts.texts(0, 0).size() < 2) {
    throw config::Error(
        "model.type: decomposable_attention needs two texts, but the training data have one per "
        "row: set the column of the second text with `text_pair:`");
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

Datasets labelled_datasets(const DatasetInputs& inputs) {
  data::LabelledSettings settings{
      .length = inputs.length,
      .truncation = inputs.options.truncation.value_or(data::Truncation::kTruncate),
      .has_token_type_ids = inputs.has_token_type_ids(),
      .label_format = label_format(inputs.objective, inputs.options),
      .fold = fold_of_run(inputs.options, inputs.seed),
      .labels = {},
      .languages = inputs.languages()};
  if (settings.label_format.is_regression == inputs.model.is_regression) {
    settings.labels = inputs.model.labels;
  }
  Datasets result;
  std::shared_ptr<const data::LabelledDataset> train_texts;
  if (!inputs.options.train.empty()) {
    const auto train = make_labelled_dataset(inputs.options.train, settings, inputs.tokenizer);
    settings.labels = train->labels();
    add_remarks(result.remarks, "train", *train);
    train_texts = train;
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    check_pairs(inputs, *train);
    result.train = train;
  }
  if (const auto items = evaluation_items(inputs.options); !items.empty()) {
    settings.fold.is_held_out = true;
    const auto evaluate = make_labelled_dataset(items, settings, inputs.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks(result.remarks, "evaluate", *evaluate);
    if (train_texts) {
      if (const auto warning = near_duplicate_warning(*train_texts, *evaluate)) {
        result.warnings.push_back(*warning);
      }
    }
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  check_classes(inputs, result);
  return result;
}

Datasets tagged_datasets(const DatasetInputs& inputs) {
  data::TaggedSettings settings{
      .length = inputs.length,
      .truncation = inputs.options.truncation.value_or(data::Truncation::kTruncate),
      .has_token_type_ids = inputs.has_token_type_ids(),
      .label_all_tokens = inputs.objective.label_all_tokens,
      .labels = inputs.model.labels,
      .languages = inputs.languages()};
  Datasets result;
  if (!inputs.options.train.empty()) {
    const auto train = make_tagged_dataset(inputs.options.train, settings, inputs.tokenizer);
    settings.labels = train->labels();
    add_remarks(result.remarks, "train", *train);
    result.train = train;
  }
  if (!inputs.options.evaluate.empty()) {
    settings.label_all_tokens = false;  // metrics are per word
    const auto evaluate = make_tagged_dataset(inputs.options.evaluate, settings, inputs.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks(result.remarks, "evaluate", *evaluate);
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  return result;
}

}  // namespace

Datasets make_datasets(const ObjectiveOptions& objective,
                       const data::DataOptions& options,
                       const models::ModelOptions& model,
                       std::shared_ptr<const data::Tokenizer> tokenizer,
                       uint64_t seed,
                       const data::ProgressVisitor& progress) {
  if (const auto wrong = incompatibility(objective, model)) {
    throw config::Error(str_cat("objective.", wrong->key, ": ", wrong->message));
  }
  const bool is_of_images = models::reads_images(model);
  if (objective.type == ObjectiveType::kDistill) {
    if (is_of_images && !options.train.empty()) {
      check_image_normalization(objective.distill.teacher,
                                batching::image_settings(model, options.images, *tokenizer).format);
    }
    return make_datasets(student_objective_options(objective), options, model, tokenizer, seed,
                         progress);
  }
  if (is_of_images) {
    return image_datasets(objective, options, model, *tokenizer, seed);
  }
  const DatasetInputs inputs{.objective = objective,
                             .options = options,
                             .model = model,
                             .tokenizer = std::move(tokenizer),
                             .seed = seed,
                             .progress = progress,
                             .length = sequence_length(options, model)};
  switch (objective.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kReplacedToken:
      return language_datasets(inputs);
    case ObjectiveType::kPrefix:
      if (model.prefix_end_id >= 0) {
        return parallel_datasets(objective, options, model, inputs.tokenizer, inputs.length,
                                 progress);
      }
      [[fallthrough]];
    case ObjectiveType::kCausal:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
    case ObjectiveType::kTranslationLm:
      return raw_text_datasets(objective, options, model, inputs.tokenizer,
                               {.length = inputs.length, .seed = seed}, progress);
    case ObjectiveType::kDistill:
    case ObjectiveType::kMaskedImage:
      break;
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
      return labelled_datasets(inputs);
    case ObjectiveType::kTag:
      return tagged_datasets(inputs);
    case ObjectiveType::kSeq2Seq:
      return parallel_datasets(objective, options, model, inputs.tokenizer, inputs.length,
                               progress);
  }
  return {};
}

}  // namespace weft::objectives
