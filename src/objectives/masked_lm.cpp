#include "objectives/masked_lm.h"

#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/token_metrics.h"
#include "kernels/cross_entropy.h"
#include "kernels/to_device.h"
#include "metrics/metrics.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/mask_options.h"

namespace weft::objectives {

namespace {

/// Per-sequence contribution to the metrics.
struct MaskedRecord {
  int64_t item = 0;
  double loss = 0;  // sum over its targets
  int64_t targets = 0;
  int64_t right = 0;
  double pair_loss = 0;
  int64_t pairs = 0;
  int64_t pairs_right = 0;
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
  return has_pairs
             ? states_with_pairs(model, batch, context)
             : States{.targets = batching::target_states(model, batch, context), .pooled = {}};
}

class MaskedLmEvaluation : public Evaluation {
 public:
  explicit MaskedLmEvaluation(std::string pair_term) : pair_term_(std::move(pair_term)) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    const auto states = states_of(model, batch, context, !pair_term_.empty());
    auto records = empty_sums(batch);
    add_predictions(batching::lm_token_metrics(model, states.targets, batch.targets), batch,
                    records);
    if (!pair_term_.empty()) {
      add_pairs(model.next_sentence_logits(states.pooled), batch, records);
    }
    records_.insert(records_.end(), records.begin(), records.end());
  }

  std::map<std::string, double> result() const override {
    const auto sum = in_item_order();
    const double loss = metrics::safe_divide(sum.loss, static_cast<double>(sum.targets));
    std::map<std::string, double> metrics = {
        {"eval_loss", loss},
        {"eval_perplexity", std::exp(loss)},
        {"eval_mlm_accuracy",
         metrics::safe_divide(static_cast<double>(sum.right), static_cast<double>(sum.targets))},
    };
    if (!pair_term_.empty()) {
      const double pair_loss = metrics::safe_divide(sum.pair_loss, static_cast<double>(sum.pairs));
      metrics["eval_mlm_loss"] = loss;
      metrics["eval_" + pair_term_ + "_loss"] = pair_loss;
      metrics["eval_loss"] = loss + pair_loss;
      metrics["eval_" + pair_term_ + "_accuracy"] = metrics::safe_divide(
          static_cast<double>(sum.pairs_right), static_cast<double>(sum.pairs));
    }
    return metrics;
  }

 private:
  static std::vector<MaskedRecord> empty_sums(const data::Batch& batch) {
    std::vector<MaskedRecord> records(batch.items.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].item = batch.items[i];
    }
    return records;
  }

  static void add_predictions(const batching::TokenMetrics& metrics,
                              const data::Batch& batch,
                              std::vector<MaskedRecord>& records) {
    std::size_t sequence = 0;
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
      while (batch.target_rows[i] >= batch.offsets[sequence + 1]) {
        ++sequence;
      }
      auto& record = records[sequence];
      record.loss += metrics.losses[i];
      record.targets += 1;
      record.right += metrics.predictions[i] == batch.targets[i] ? 1 : 0;
    }
  }

  static void add_pairs(const at::Tensor& logits,
                        const data::Batch& batch,
                        std::vector<MaskedRecord>& records) {
    auto labels = batch.labels;
    for (auto& label : labels) {
      label = std::max<int64_t>(label, 0);  // ignored ones are left out below
    }
    const auto metrics = batching::token_metrics(logits, labels);
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (batch.labels[i] != data::kIgnoreIndex) {
        records[i].pair_loss = metrics.losses[i];
        records[i].pairs = 1;
        records[i].pairs_right = metrics.predictions[i] == batch.labels[i] ? 1 : 0;
      }
    }
  }

  /// The order of summation must not depend on batching.
  MaskedRecord in_item_order() const {
    auto records = records_;
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.item < b.item; });
    MaskedRecord sum;
    for (const auto& record : records) {
      sum.loss += record.loss;
      sum.targets += record.targets;
      sum.right += record.right;
      sum.pair_loss += record.pair_loss;
      sum.pairs += record.pairs;
      sum.pairs_right += record.pairs_right;
    }
    return sum;
  }

  std::string pair_term_;
  std::vector<MaskedRecord> records_;
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
  section.read(
      "next_sentence", has_next,
      {.help = "Whether the model also tells if the second text follows the first (BERT)."});
  section.read(
      "sentence_order", has_order,
      {.help = "Whether the model also tells if two texts stand in their order (ALBERT)."});
  if (has_next && has_order) {
    section.fail("sentence_order",
                 "true together with next_sentence: true, only one of the two is allowed");
  }
  return has_next    ? data::PairTask::kNextSentence
         : has_order ? data::PairTask::kSentenceOrder
                     : data::PairTask::kNone;
}

}  // namespace

models::Head MaskedLmObjective::head(const models::ModelOptions& /*model*/) const {
  return has_pairs() ? models::Head::kPretraining : models::Head::kMaskedLm;
}

std::optional<Incompatibility> MaskedLmObjective::incompatibility(
    const models::ModelOptions& model) const {
  auto wrong = requires_text_head(name(), model, models::Head::kMaskedLm, "head for masked tokens");
  if (!wrong && has_pairs() && !models::has_head(model.family, models::Head::kPretraining)) {
    return Incompatibility{term_of(options_.pair),
                           str_cat("true, but ", models::word_of(model.family),
                                   " has no head for pairs of texts, allowed is false")};
  }
  return wrong;
}

ObjectiveTraits MaskedLmObjective::traits(const models::ModelOptions& /*model*/) const {
  return {.reads_raw_text = true,
          .predicts_tokens = true,
          .target_fraction = options_.mask.fraction,
          .states_read = has_pairs() ? StatesRead::kTargetsAndSequences : StatesRead::kTargets};
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
  std::vector<at::Tensor> losses = {token_loss(model, states.targets, batch)};
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
    setup.data_section.fail("pack",
                            "pairs of texts are drawn from documents: `document` is "
                            "allowed");
  }
}

Datasets MaskedLmObjective::read_datasets(const DatasetInputs& inputs) const {
  auto datasets = masked_datasets(inputs, options_.mask, options_.pair);
  if (options_.pair == data::PairTask::kNextSentence) {
    datasets.label_meanings = {"0: the second text is the next", "1: it is another's"};
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
