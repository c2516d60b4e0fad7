#include "base/text.h"
#include "batching/image_settings.h"
#include "batching/token_types.h"
#include "data/datasets/labelled_dataset.h"
#include "data/datasets/tagged_dataset.h"
#include "data/text/near_duplicates.h"
#include "models/config/family_definition.h"
#include "objectives/data/image_data.h"
#include "objectives/data/running_text.h"
#include "objectives/data/training_texts.h"
#include "objectives/distill.h"
#include "objectives/loss/teacher.h"
#include "objectives/objective.h"
#include "objectives/seq2seq.h"

namespace weft::objectives {

namespace {

struct Context {
  const ObjectiveOptions& objective;
  const data::DataOptions& options;
  const models::ModelOptions& model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  uint64_t seed;
  const data::ProgressVisitor& progress;
  int64_t length;

  bool has_types() const { return models::tells_segments(model); }
  std::vector<std::string> languages() const { return batching::languages_of(model); }
};

/// Longest sequence: what the config says, at most what the model takes.
int64_t sequence_length(const data::DataOptions& options, const models::ModelOptions& model) {
  const int64_t length = options.length.value_or(model.length);
  if (length > model.length) {
    throw config::Error(text("data.length: ", length, " is more than the ", model.length,
                             " positions of the model"));
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

TaskData language_data(const Context& context) {
  const data::LanguageSettings settings{.length = context.length,
                                        .pair = context.objective.pair,
                                        .mask = context.objective.mask,
                                        .has_types = context.has_types(),
                                        .seed = context.seed,
                                        .languages = context.languages()};
  const auto make = [&](const std::vector<data::DataItem>& items,
                        const data::DataOptions& options) {
    return make_language_dataset(items, options, settings, context.tokenizer, context.progress);
  };
  auto plain = context.options;
  plain.languages = {};  // an evaluation sees each text once
  TaskData result;
  result.train =
      context.options.train.empty() ? nullptr : make(context.options.train, context.options);
  result.evaluate =
      context.options.evaluate.empty() ? nullptr : make(context.options.evaluate, plain);
  if (result.train) {
    add_remarks(result.remarks, "train", *result.train);
  }
  if (result.evaluate) {
    add_remarks(result.remarks, "evaluate", *result.evaluate);
  }
  return result;
}

/// What the objective asks of the classes that the data and the model cannot give.
void check_classes(const Context& context, const TaskData& data) {
  const auto& classes = context.objective.classes;
  if (context.objective.type != ObjectiveType::kClassify) {
    return;
  }
  if (data.labels.size() < 2 && !classes.multi_label) {
    throw config::Error(text("objective.type: classify, but the data have one class only (",
                             join(data.labels), "), there must be two"));
  }
  const bool has_threshold = classes.threshold || classes.tunes_threshold;
  if (has_threshold && !classes.multi_label && data.labels.size() != 2) {
    throw config::Error(text("objective.", classes.threshold ? "threshold" : "tune_threshold",
                             ": there are ", data.labels.size(),
                             " classes, of which the likeliest is found; allowed with two classes "
                             "or with multi_label: true"));
  }
  if (classes.tunes_threshold && !data.evaluate) {
    throw config::Error(
        "objective.tune_threshold: there is no data.evaluate to find the threshold on");
  }
}

void check_pairs(const Context& context, const data::LabelledDataset& texts) {
  if (context.model.family == models::Family::kDecomposableAttention &&
      texts.texts(0, 0).size() < 2) {
    throw config::Error(
        "model.type: decomposable_attention compares two texts, the training data have one in a "
        "row: name the column of the second by `text_pair:`");
  }
}

/// The files of the evaluation: those of its own, or the training files, of which a fold is left.
std::vector<data::DataItem> measured_on(const data::DataOptions& options) {
  if (!options.folds) {
    return options.evaluate;
  }
  auto items = options.train;
  for (auto& item : items) {
    item.weight = 1;  // each row once
  }
  return items;
}

TaskData labelled_data(const Context& context) {
  data::LabelledSettings settings{
      .length = context.length,
      .overflow = context.options.overflow.value_or(data::Overflow::kCut),
      .has_types = context.has_types(),
      .form = label_form(context.objective, context.options),
      .fold = fold_of_run(context.options, context.seed),
      .labels = {},
      .languages = context.languages()};
  if (settings.form.is_regression == context.model.is_regression) {
    settings.labels = context.model.labels;
  }
  TaskData result;
  std::shared_ptr<const data::LabelledDataset> texts_of_training;
  if (!context.options.train.empty()) {
    const auto train = make_labelled_dataset(context.options.train, settings, context.tokenizer);
    settings.labels = train->labels();
    add_remarks(result.remarks, "train", *train);
    texts_of_training = train;
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    check_pairs(context, *train);
    result.train = train;
  }
  if (const auto items = measured_on(context.options); !items.empty()) {
    settings.fold.is_held_out = true;
    const auto evaluate = make_labelled_dataset(items, settings, context.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks(result.remarks, "evaluate", *evaluate);
    if (texts_of_training) {
      if (const auto warning = near_duplicate_warning(*texts_of_training, *evaluate)) {
        result.warnings.push_back(*warning);
      }
    }
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  check_classes(context, result);
  return result;
}

TaskData tagged_data(const Context& context) {
  data::TaggedSettings settings{.length = context.length,
                                .overflow = context.options.overflow.value_or(data::Overflow::kCut),
                                .has_types = context.has_types(),
                                .pieces = context.objective.label_pieces,
                                .labels = context.model.labels,
                                .languages = context.languages()};
  TaskData result;
  if (!context.options.train.empty()) {
    const auto train = make_tagged_dataset(context.options.train, settings, context.tokenizer);
    settings.labels = train->labels();
    add_remarks(result.remarks, "train", *train);
    result.train = train;
  }
  if (!context.options.evaluate.empty()) {
    settings.pieces = data::LabelPieces::kFirst;  // figures are of words
    const auto evaluate =
        make_tagged_dataset(context.options.evaluate, settings, context.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks(result.remarks, "evaluate", *evaluate);
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  return result;
}

}  // namespace

TaskData make_task_data(const ObjectiveOptions& objective,
                        const data::DataOptions& options,
                        const models::ModelOptions& model,
                        std::shared_ptr<const data::Tokenizer> tokenizer,
                        uint64_t seed,
                        const data::ProgressVisitor& progress) {
  if (const auto wrong = misfit(objective, model)) {
    throw config::Error(text("objective.", wrong->key, ": ", wrong->message));
  }
  const bool is_of_images = models::reads_images(model);
  if (objective.type == ObjectiveType::kDistill) {
    if (is_of_images && !options.train.empty()) {
      check_image_numbers(objective.distill.teacher,
                          batching::image_settings(model, options.images, *tokenizer).format);
    }
    return make_task_data(task_of(objective), options, model, tokenizer, seed, progress);
  }
  if (is_of_images) {
    return image_task_data(objective, options, model, *tokenizer, seed);
  }
  const Context context{.objective = objective,
                        .options = options,
                        .model = model,
                        .tokenizer = std::move(tokenizer),
                        .seed = seed,
                        .progress = progress,
                        .length = sequence_length(options, model)};
  switch (objective.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kReplacedToken:
      return language_data(context);
    case ObjectiveType::kPrefix:
      if (model.decoder.prompt_end_id >= 0) {
        return parallel_task_data(objective, options, model, context.tokenizer, context.length,
                                  progress);
      }
      [[fallthrough]];
    case ObjectiveType::kCausal:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
    case ObjectiveType::kTranslationLm:
      return running_text_data(objective, options, model, context.tokenizer,
                               {.length = context.length, .seed = seed}, progress);
    case ObjectiveType::kDistill:
    case ObjectiveType::kMaskedImage:
      break;
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
      return labelled_data(context);
    case ObjectiveType::kTag:
      return tagged_data(context);
    case ObjectiveType::kSeq2Seq:
      return parallel_task_data(objective, options, model, context.tokenizer, context.length,
                                progress);
  }
  return {};
}

}  // namespace weft::objectives
