#include <numeric>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/model_inputs.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/tagged_dataset.h"
#include "data/rows/tagged_rows.h"
#include "kernels/cross_entropy.h"
#include "kernels/to_device.h"
#include "metrics/tag_scheme.h"
#include "models/config/family_definition.h"
#include "objectives/data/class_report.h"
#include "objectives/data/training_texts.h"
#include "objectives/evaluation/tag_evaluation.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

/// A model that reads documents predicts tags of their sentences.
data::TaggedUnit tagged_unit(const models::ModelOptions& model) {
  return model.document ? data::TaggedUnit::kSentence : data::TaggedUnit::kWord;
}

Datasets tagged_datasets(const DatasetInputs& inputs, bool label_all_tokens) {
  data::TaggedSettings settings{
      .length = inputs.length(),
      .truncation = inputs.data.truncation.value_or(data::Truncation::kTruncate),
      .has_token_type_ids = models::uses_token_type_ids(inputs.model),
      .label_all_tokens = label_all_tokens,
      .labels = inputs.model.labels,
      .languages = batching::languages_of(inputs.model),
      .sentences = batching::sentence_limits(inputs.model, inputs.length())};
  Datasets result;
  std::vector<int64_t> evaluated;
  if (!inputs.data.train.empty()) {
    auto training = settings;
    training.may_replace_labels = true;
    const auto train = make_tagged_dataset(inputs.data.train, training, inputs.tokenizer);
    settings.labels = train->labels();
    result.class_counts = train->class_counts();
    result.rows =
        std::accumulate(result.class_counts.begin(), result.class_counts.end(), int64_t{0});
    add_remarks("train", *train, result);
    result.train = train;
  }
  if (!inputs.data.evaluate.empty()) {
    settings.label_all_tokens = false;  // metrics are per word
    const auto evaluate = make_tagged_dataset(inputs.data.evaluate, settings, inputs.tokenizer);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate, result);
    evaluated = evaluate->class_counts();
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  report_classes({.unit = settings.sentences ? "sentences" : "words", .may_be_imbalanced = false},
                 evaluated, result);
  return result;
}

class TagObjective : public Objective {
 public:
  explicit TagObjective(bool label_all_tokens) : label_all_tokens_(label_all_tokens) {}

  std::string_view name() const override { return "tag"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kToken;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    if (label_all_tokens_ && model.document) {
      return Incompatibility{
          "label_all_tokens",
          "has no effect with model.document, where sentences have tags: allowed is false"};
    }
    return requires_text_head(name(), model, models::Head::kToken, "token classification head");
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_rows = true, .reads_sentences = true};
  }
  data::SplitRows split_rows(const data::DataItem& item,
                             const data::DataOptions& /*data*/,
                             const models::ModelOptions& model) const override {
    return data::tagged_split_rows(item, tagged_unit(model));
  }
  TrainingDefaults training_defaults(const TrainingStart& start) const override {
    return labelled_training_defaults(start);
  }
  std::vector<std::string> terms() const override { return {"tag"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    return {static_cast<int64_t>(batch.targets.size())};
  }

  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto logits =  // (M, C)
        batching::tag_logits(model,
                             batching::input_to_device(batch, context.layout.positions.device()),
                             batch, context);
    if (batch.targets.empty()) {
      return {batching::zero_loss(logits)};
    }
    return {kernels::cross_entropy_sum(logits, kernels::to_device(batch.targets, logits.device()))};
  }

  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<TagEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    auto example = sample_input(model, length);
    if (!model.document) {
      add_sample_targets(example, 1, models::head_outputs(model));
      return example;
    }
    data::add_sentence_targets(std::move(example.sentence_lengths), example);
    example.targets.assign(example.target_positions.size(), 0);
    return example;
  }
  std::string metric_for_best_model() const override { return "eval_f1"; }
  void visit_training_texts(const TrainingTexts& texts,
                            const data::TextVisitor& visit) const override {
    data::visit_tagged_texts(texts.data.train, visit, tagged_unit(texts.model));
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    auto datasets = tagged_datasets(inputs, label_all_tokens_);
    if (const auto other = metrics::TagScheme(datasets.labels).other_tags(); !other.empty()) {
      datasets.warnings.push_back(
          str_cat("the tags ", quoted_text(other),
                  " do not begin with B-, I-, E- or S- like the "
                  "others, so precision, recall and F1 are those of tags, not of entities"));
    }
    return datasets;
  }

  bool label_all_tokens_;
};

}  // namespace

std::unique_ptr<Objective> make_tag(bool label_all_tokens) {
  return std::make_unique<TagObjective>(label_all_tokens);
}

std::unique_ptr<Objective> read_tag(config::Section& section) {
  bool label_all_tokens = false;
  section.read("label_all_tokens", label_all_tokens,
               {.help = "Trains on every token of a word; after the first token of a B-X word the "
                        "label is I-X. false: only the first token of a word has a label. Metrics "
                        "count words by their first token."});
  return make_tag(label_all_tokens);
}

}  // namespace weft::objectives
