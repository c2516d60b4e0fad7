#include "objectives/evaluation/tag_evaluation.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "base/text.h"
#include "batching/hidden_states.h"
#include "batching/rows.h"
#include "batching/stage.h"
#include "metrics/tally.h"

namespace weft::objectives {

namespace {

using formats::Json;

/// Counts of one kind of entity.
struct EntityCounts {
  double hits = 0;
  double found = 0;
  double wanted = 0;

  metrics::ClassScores scores() const {
    const double precision = metrics::quotient(hits, found);
    const double recall = metrics::quotient(hits, wanted);
    return {.precision = precision,
            .recall = recall,
            .f1 = metrics::quotient(2 * precision * recall, precision + recall)};
  }
};

/// By type; all of them together come last.
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
    const auto wanted = scheme.entities(sentence.wanted);
    const auto found = scheme.entities(sentence.found);
    std::vector<metrics::Entity> hits;
    for (const metrics::Entity& entity : found) {
      if (std::find(wanted.begin(), wanted.end(), entity) != wanted.end()) {
        hits.push_back(entity);
      }
    }
    count(wanted, &EntityCounts::wanted);
    count(found, &EntityCounts::found);
    count(hits, &EntityCounts::hits);
  }
  return counts;
}

metrics::Tally tally_of(const std::vector<TaggedSentence>& sentences, std::size_t labels) {
  metrics::Tally tally(static_cast<int64_t>(labels));
  for (const TaggedSentence& sentence : sentences) {
    for (std::size_t i = 0; i < sentence.wanted.size(); ++i) {
      tally.add(sentence.wanted[i], sentence.found[i]);
    }
  }
  return tally;
}

}  // namespace

void TagEvaluation::add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) {
  const auto figures = batching::row_figures(
      batching::tag_logits(model, batching::stage_input(batch, pass.layout.positions.device()),
                           batch, pass),
      batch.targets);
  std::size_t target = 0;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    TaggedSentence sentence{.item = batch.items[i], .wanted = {}, .found = {}, .scores = {}};
    for (; target < batch.targets.size() && batch.target_rows[target] < batch.offsets[i + 1];
         ++target) {
      sentence.loss += figures.losses[target];
      sentence.wanted.push_back(batch.targets[target]);
      sentence.found.push_back(figures.best[target]);
      sentence.scores.push_back(figures.scores[target]);
    }
    add(std::move(sentence), model.options().labels);
  }
}

void TagEvaluation::add(TaggedSentence sentence, const std::vector<std::string>& labels) {
  labels_ = labels;
  sentences_.push_back(std::move(sentence));
}

std::vector<TaggedSentence> TagEvaluation::in_item_order() const {
  auto sentences = sentences_;
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.item < b.item; });
  return sentences;
}

std::map<std::string, double> TagEvaluation::result() const {
  const metrics::TagScheme scheme(labels_);
  double loss = 0;
  double words = 0;
  double right = 0;
  const auto sentences = in_item_order();
  for (const TaggedSentence& sentence : sentences) {
    loss += sentence.loss;
    for (std::size_t i = 0; i < sentence.wanted.size(); ++i) {
      words += 1;
      right += sentence.wanted[i] == sentence.found[i] ? 1 : 0;
    }
  }
  const auto scores = scheme.marks_entities()
                          ? entity_counts(scheme, sentences).back().scores()
                          : tally_of(sentences, labels_.size()).macro_of_present();
  return {{"eval_loss", metrics::quotient(loss, words)},
          {"eval_accuracy", metrics::quotient(right, words)},
          {"eval_precision", scores.precision},
          {"eval_recall", scores.recall},
          {"eval_f1", scores.f1}};
}

Json TagEvaluation::details() const {
  const metrics::TagScheme scheme(labels_);
  Json classes = Json::object();
  if (scheme.marks_entities()) {
    const auto counts = entity_counts(scheme, sentences_);
    for (std::size_t type = 0; type < scheme.types().size(); ++type) {
      classes[scheme.types()[type]] =
          metrics::score_json(counts[type].scores(), counts[type].wanted);
    }
    return {{"labels", labels_}, {"per_class", classes}};
  }
  const auto tally = tally_of(sentences_, labels_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    classes[labels_[i]] = metrics::score_json(tally.of(id), tally.support(id));
  }
  return {{"labels", labels_}, {"per_class", classes}};
}

std::optional<std::vector<Verdict>> TagEvaluation::worst(int64_t most) const {
  const auto names = [&](const std::vector<int64_t>& tags) {
    Json list = Json::array();
    for (const int64_t tag : tags) {
      const auto id = static_cast<std::size_t>(tag);
      list.push_back(id < labels_.size() ? labels_[id] : text("LABEL_", id));
    }
    return list;
  };
  auto sentences = in_item_order();
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.loss > b.loss; });
  std::vector<Verdict> verdicts;
  for (const TaggedSentence& sentence : sentences) {
    if (static_cast<int64_t>(verdicts.size()) == most) {
      break;
    }
    verdicts.push_back({.item = sentence.item,
                        .loss = sentence.loss,
                        .facts = {{"tags", names(sentence.wanted)},
                                  {"predictions", names(sentence.found)},
                                  {"scores", sentence.scores}}});
  }
  return verdicts;
}

}  // namespace weft::objectives
