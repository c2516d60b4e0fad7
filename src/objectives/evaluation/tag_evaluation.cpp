#include "objectives/evaluation/tag_evaluation.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "data/labels.h"
#include "metrics/confusion_counts.h"
#include "models/model.h"

namespace weft::objectives {

namespace {

using formats::Json;

/// Counts of one entity type.
struct EntityCounts {
  double true_positives = 0;
  double predicted = 0;
  double actual = 0;

  metrics::ClassScores scores() const {
    const double precision = metrics::safe_divide(true_positives, predicted);
    const double recall = metrics::safe_divide(true_positives, actual);
    return {.precision = precision,
            .recall = recall,
            .f1 = metrics::safe_divide(2 * precision * recall, precision + recall)};
  }
};

/// By type; the last element counts all types together.
std::vector<EntityCounts> entity_counts(const metrics::TagScheme& scheme,
                                        const std::vector<TaggedSentence>& sentences) {
  std::vector<EntityCounts> counts(scheme.types().size() + 1);
  const auto count = [&](const std::vector<metrics::Entity>& entities, double EntityCounts::*what) {
    for (const metrics::Entity& entity : entities) {
      counts[static_cast<std::size_t>(entity.type)].*what += 1;
      counts.back().*what += 1;
    }
  };
  for (const TaggedSentence& sentence : sentences) {
    const auto actual = scheme.entities(sentence.labels);
    const auto predicted = scheme.entities(sentence.predictions);
    std::vector<metrics::Entity> true_positives;
    for (const metrics::Entity& entity : predicted) {
      if (std::find(actual.begin(), actual.end(), entity) != actual.end()) {
        true_positives.push_back(entity);
      }
    }
    count(actual, &EntityCounts::actual);
    count(predicted, &EntityCounts::predicted);
    count(true_positives, &EntityCounts::true_positives);
  }
  return counts;
}

metrics::ConfusionCounts count_confusion(const std::vector<TaggedSentence>& sentences,
                                         std::size_t labels) {
  metrics::ConfusionCounts counts(static_cast<int64_t>(labels));
  for (const TaggedSentence& sentence : sentences) {
    for (std::size_t i = 0; i < sentence.labels.size(); ++i) {
      counts.add(sentence.labels[i], sentence.predictions[i]);
    }
  }
  return counts;
}

}  // namespace

void TagEvaluation::add(models::Model& model,
                        const data::Batch& batch,
                        const nn::ForwardContext& context) {
  const auto metrics = models::token_metrics(
      batching::tag_logits(model,
                           batching::input_to_device(batch, context.layout.positions.device()),
                           batch, context),
      batch.targets);
  auto sentences = make_records(batch);
  visit_targets(batch, [&](std::size_t i, std::size_t target) {
    sentences[i].loss += metrics.losses[target];
    sentences[i].labels.push_back(batch.targets[target]);
    sentences[i].predictions.push_back(metrics.predictions[target]);
    sentences[i].scores.push_back(metrics.scores[target]);
  });
  set_labels(model.options().labels);
  add_records(std::move(sentences));
}

void TagEvaluation::add(TaggedSentence sentence, const std::vector<std::string>& labels) {
  set_labels(labels);
  add_records({std::move(sentence)});
}

std::map<std::string, double> TagEvaluation::result() const {
  const metrics::TagScheme scheme(labels());
  double loss = 0;
  double words = 0;
  double right = 0;
  const auto sentences = records().in_item_order();
  for (const TaggedSentence& sentence : sentences) {
    loss += sentence.loss;
    for (std::size_t i = 0; i < sentence.labels.size(); ++i) {
      words += 1;
      right += sentence.labels[i] == sentence.predictions[i] ? 1 : 0;
    }
  }
  const auto scores = scheme.marks_entities()
                          ? entity_counts(scheme, sentences).back().scores()
                          : count_confusion(sentences, labels().size()).macro_over_present();
  return {{"eval_loss", metrics::safe_divide(loss, words)},
          {"eval_accuracy", metrics::safe_divide(right, words)},
          {"eval_precision", scores.precision},
          {"eval_recall", scores.recall},
          {"eval_f1", scores.f1}};
}

Json TagEvaluation::details() const {
  const metrics::TagScheme scheme(labels());
  const auto sentences = records().in_item_order();
  Json classes = Json::object();
  if (scheme.marks_entities()) {
    const auto counts = entity_counts(scheme, sentences);
    for (std::size_t type = 0; type < scheme.types().size(); ++type) {
      classes[scheme.types()[type]] =
          metrics::score_json(counts[type].scores(), counts[type].actual);
    }
    return {{"labels", labels()}, {"per_class", classes}};
  }
  const auto counts = count_confusion(sentences, labels().size());
  for (std::size_t i = 0; i < labels().size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    classes[labels()[i]] = metrics::score_json(counts.class_scores(id), counts.support(id));
  }
  return {{"labels", labels()}, {"per_class", classes}};
}

std::optional<std::vector<ExampleResult>> TagEvaluation::hardest_examples(int64_t limit) const {
  const auto names = [&](const std::vector<int64_t>& tags) {
    Json list = Json::array();
    for (const int64_t tag : tags) {
      list.push_back(data::label_name(labels(), tag));
    }
    return list;
  };
  auto sentences = records().in_item_order();
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.loss > b.loss; });
  std::vector<ExampleResult> results;
  for (const TaggedSentence& sentence : sentences) {
    if (static_cast<int64_t>(results.size()) == limit) {
      break;
    }
    results.push_back({.item = sentence.item,
                       .loss = sentence.loss,
                       .fields = {{"tags", names(sentence.labels)},
                                  {"predictions", names(sentence.predictions)},
                                  {"scores", sentence.scores}}});
  }
  return results;
}

}  // namespace weft::objectives
