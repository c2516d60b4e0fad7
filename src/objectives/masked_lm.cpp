#include "objectives/masked_lm.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/cross_entropy.h"
#include "kernels/to_device.h"
#include "metrics/metrics.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/model.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/objective.h"

namespace weft::objectives {

namespace {

constexpr config::Range kMaskShare = {.min = 0, .max = 1};

void read_spans(config::Section& section, data::MaskOptions& mask) {
  section.read("mean_span", mask.mean_span,
               {.help = "Mean length of masked spans (geometric).",
                .unit = "words",
                .range = config::between(1, 100),
                .only_if = "mask_unit: span"});
  section.read("max_span", mask.max_span,
               {.help = "Longest masked span.",
                .unit = "words",
                .range = config::between(1, 1000),
                .only_if = "mask_unit: span"});
  const data::MaskOptions plain;
  if (mask.unit != data::MaskUnit::kSpan && mask.mean_span != plain.mean_span) {
    section.report("mean_span", "has no effect here, only with mask_unit: span");
  }
  if (mask.unit != data::MaskUnit::kSpan && mask.max_span != plain.max_span) {
    section.report("max_span", "has no effect here, only with mask_unit: span");
  }
}

struct MaskedRecord : TokenRecord {
  double pair_loss = 0;
  int64_t pairs = 0;
  int64_t pairs_right = 0;

  static constexpr auto kFields = std::tuple_cat(
      TokenRecord::kFields,
      std::tuple(&MaskedRecord::pair_loss, &MaskedRecord::pairs, &MaskedRecord::pairs_right));
};

/// The last hidden states used by the terms.
struct States {
  at::Tensor targets;  // (M, D)
  at::Tensor pooled;   // (B, D), or undefined without a task on pairs
};

States states_with_pairs(models::Model& model,
                         const data::Batch& batch,
                         const nn::ForwardContext& context) {
  std::vector<int64_t> rows;              // the first token of each sequence, then its targets
  std::vector<int64_t> target_positions;  // rows of the targets in `rows`
  auto target = batch.target_rows.begin();
  for (std::size_t b = 0; b < batch.items.size(); ++b) {
    rows.push_back(batch.offsets[b]);
    for (; target != batch.target_rows.end() && *target < batch.offsets[b + 1]; ++target) {
      target_positions.push_back(static_cast<int64_t>(rows.size()));
      rows.push_back(*target);
    }
  }
  const auto selection =
      nn::RowSelection::from_rows(rows, context, context.first_sequence + context.first_target);
  const auto device = context.layout.positions.device();
  const auto states =
      model.selected_hidden_states(batching::input_to_device(batch, device), context, selection);
  return {.targets = states.index_select(0, kernels::to_device(target_positions, device)),
          .pooled = model.pooled(states, selection.select(context))};
}

States states_of(models::Model& model,
                 const data::Batch& batch,
                 const nn::ForwardContext& context,
                 bool has_pairs) {
  return has_pairs ? states_with_pairs(model, batch, context)
                   : States{.targets = batching::target_states(model, batch, context).states,
                            .pooled = {}};
}

class MaskedLmEvaluation : public RecordEvaluation<MaskedRecord> {
 public:
  explicit MaskedLmEvaluation(std::string pair_term)
      : RecordEvaluation("masked_lm " + pair_term), pair_term_(std::move(pair_term)) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    const auto states = states_of(model, batch, context, !pair_term_.empty());
    auto records = make_records(batch);
    add_targets(model.lm_metrics(states.targets, batch.targets), batch, records);
    if (!pair_term_.empty()) {
      add_pairs(model.next_sentence_logits(states.pooled), batch, records);
    }
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    const auto sum = records().sum();
    auto metrics = token_results(sum);
    auto accuracy = metrics.extract("eval_accuracy");
    accuracy.key() = "eval_mlm_accuracy";
    metrics.insert(std::move(accuracy));
    if (!pair_term_.empty()) {
      const auto pairs = static_cast<double>(sum.pairs);
      const double pair_loss = metrics::safe_divide(sum.pair_loss, pairs);
      metrics["eval_mlm_loss"] = metrics.at("eval_loss");
      metrics["eval_" + pair_term_ + "_loss"] = pair_loss;
      metrics["eval_loss"] += pair_loss;
      metrics["eval_" + pair_term_ + "_accuracy"] =
          metrics::safe_divide(static_cast<double>(sum.pairs_right), pairs);
    }
    return metrics;
  }

 private:
  static void add_pairs(const at::Tensor& logits,
                        const data::Batch& batch,
                        std::vector<MaskedRecord>& records) {
    auto labels = batch.labels;
    for (auto& label : labels) {
      label = std::max<int64_t>(label, 0);  // ignored ones are left out below
    }
    const auto metrics = models::token_metrics(logits, labels);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (batch.labels[i] != data::kIgnoreIndex) {
        records[i].pair_loss = metrics.losses[i];
        records[i].pairs = 1;
        records[i].pairs_right = metrics.predictions[i] == batch.labels[i] ? 1 : 0;
      }
    }
  }

  std::string pair_term_;
};

std::string term_of(data::PairTask pair) {
  switch (pair) {
    case data::PairTask::kNone:
      return "";
    case data::PairTask::kNextSentence:
      return "next_sentence";
    case data::PairTask::kSentenceOrder:
      return "sentence_order";
  }
  return "";
}

data::PairTask read_pair(config::Section& section) {
  bool has_next = false;
  bool has_order = false;
  section.read("next_sentence", has_next,
               {.help = "Next sentence prediction (NSP, BERT): the model also predicts whether the "
                        "second text follows the first."});
  section.read("sentence_order", has_order,
               {.help = "Sentence order prediction (SOP, ALBERT): the model also predicts whether "
                        "two texts are in the original order or swapped."});
  if (has_next && has_order) {
    section.report("sentence_order",
                   "true together with next_sentence: true, only one of the two is allowed");
  }
  return has_next    ? data::PairTask::kNextSentence
         : has_order ? data::PairTask::kSentenceOrder
                     : data::PairTask::kNone;
}

}  // namespace

void check_replacement_probs(config::Section& section,
                             const ReplacementProb& mask,
                             const ReplacementProb& random) {
  if (mask.value + random.value > 1.0 + 1e-9) {
    section.report(random.key, str_cat(random.value, " and ", mask.key, " ", mask.value,
                                       " must add up to at most 1"));
  }
}

void read_mask_options(config::Section& section, data::MaskOptions& mask) {
  static const config::Choices<data::MaskUnit> kUnits = {{"token", data::MaskUnit::kToken},
                                                         {"word", data::MaskUnit::kWord},
                                                         {"span", data::MaskUnit::kSpan}};
  section.read("mask_fraction", mask.fraction,
               {.help = "Masking probability: fraction of the tokens of a sequence that are "
                        "selected for prediction, not counting special tokens.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("mask_token_prob", mask.mask_token_prob,
               {.help = "Fraction of the selected tokens that are replaced by the mask token. "
                        "Default for replaced_token: 1.",
                .range = kMaskShare});
  section.read("random_token_prob", mask.random_token_prob,
               {.help = "Fraction of the selected tokens that are replaced by random tokens; the "
                        "rest are left unchanged. Default for replaced_token: 0.",
                .range = kMaskShare});
  check_replacement_probs(section, {"mask_token_prob", mask.mask_token_prob},
                          {"random_token_prob", mask.random_token_prob});
  section.read_choice("mask_unit", mask.unit, kUnits,
                      {.help = "Masking unit. token: single tokens. word: whole words (whole word "
                               "masking). span: spans of words (SpanBERT, arXiv:1907.10529)."});
  read_spans(section, mask);
  section.read(
      "static_masking", mask.is_static,
      {.help =
           "Static masking: the same tokens are masked in every epoch. false: dynamic masking."});
}

models::Head MaskedLmObjective::head(const models::ModelOptions& /*model*/) const {
  return has_pairs() ? models::Head::kPretraining : models::Head::kMaskedLm;
}

std::optional<Incompatibility> MaskedLmObjective::incompatibility(
    const models::ModelOptions& model) const {
  auto wrong =
      requires_text_head(name(), model, models::Head::kMaskedLm, "masked language modelling head");
  if (!wrong && has_pairs() && !models::has_head(model.family, models::Head::kPretraining)) {
    return Incompatibility{
        term_of(options_.pair),
        str_cat("true, but ", models::word_of(model.family),
                " has no pretraining head for sentence pairs, allowed is false")};
  }
  return wrong;
}

ObjectiveTraits MaskedLmObjective::traits(const models::ModelOptions& /*model*/) const {
  return {.reads_raw_text = true};
}

data::Example MaskedLmObjective::sample_example(const models::ModelOptions& model,
                                                int64_t length) const {
  auto example = sample_input(model, length);
  add_sample_targets(example, options_.mask.fraction, model.vocabulary);
  example.label = 0;  // of the pair
  return example;
}

std::vector<std::string> MaskedLmObjective::terms() const {
  return has_pairs() ? std::vector<std::string>{"mlm", term_of(options_.pair)}
                     : std::vector<std::string>{"mlm"};
}

std::vector<int64_t> MaskedLmObjective::counts(const data::Batch& batch) const {
  std::vector<int64_t> counts = {static_cast<int64_t>(batch.targets.size())};
  if (has_pairs()) {
    const auto ignored = std::count(batch.labels.begin(), batch.labels.end(), data::kIgnoreIndex);
    counts.push_back(static_cast<int64_t>(batch.labels.size()) - ignored);
  }
  return counts;
}

std::vector<at::Tensor> MaskedLmObjective::losses(models::Model& model,
                                                  const data::Batch& batch,
                                                  const nn::ForwardContext& context) const {
  const auto states = states_of(model, batch, context, has_pairs());
  std::vector<at::Tensor> losses = {token_loss(model, states.targets, batch, context)};
  if (has_pairs()) {
    const auto logits = model.next_sentence_logits(states.pooled);  // (B, 2)
    losses.push_back(
        kernels::cross_entropy_sum(logits, kernels::to_device(batch.labels, logits.device())));
  }
  return losses;
}

std::unique_ptr<Evaluation> MaskedLmObjective::evaluation() const {
  return std::make_unique<MaskedLmEvaluation>(term_of(options_.pair));
}

void MaskedLmObjective::check_training(const TrainingSetup& setup) const {
  if (has_pairs() && setup.data.pack != data::Pack::kDocument) {
    setup.data_section.report("pack", "sentence pairs are drawn from documents, must be document");
  }
}

Datasets MaskedLmObjective::read_datasets(const DatasetInputs& inputs) const {
  auto datasets = masked_datasets(inputs, options_.mask, options_.pair);
  if (options_.pair == data::PairTask::kNextSentence) {
    datasets.label_meanings = {"0: the second text is the next sentence",
                               "1: the second text is from another document"};
  } else if (options_.pair == data::PairTask::kSentenceOrder) {
    datasets.label_meanings = {"0: in order", "1: swapped"};
  }
  return datasets;
}

std::unique_ptr<Objective> make_masked_lm(const MaskedLmOptions& options) {
  return std::make_unique<MaskedLmObjective>(options);
}

std::unique_ptr<Objective> read_masked_lm(config::Section& section) {
  MaskedLmOptions options;
  read_mask_options(section, options.mask);
  options.pair = read_pair(section);
  return make_masked_lm(options);
}

}  // namespace weft::objectives
