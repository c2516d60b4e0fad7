#include <algorithm>
#include <tuple>
#include <utility>

#include <ATen/Functions.h>

#include "batching/device_batch.h"
#include "kernels/to_device.h"
#include "objectives/data/text_datasets.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/objective.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

/// What one direction predicts: its targets, and the rows from which.
struct Neighbours {
  std::vector<int64_t> rows;
  std::vector<int64_t> targets;
};

/// `is_reverse`: the token before each but the first of a sequence, else that after each but the
/// last.
Neighbours neighbours_of(const data::Batch& batch, bool is_reverse) {
  Neighbours result;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    for (auto row = batch.offsets[b]; row + 1 < batch.offsets[b + 1]; ++row) {
      result.rows.push_back(is_reverse ? row + 1 : row);
      result.targets.push_back(batch.ids[static_cast<std::size_t>(is_reverse ? row : row + 1)]);
    }
  }
  return result;
}

/// The states of a direction (N, D / 2) at these rows.
at::Tensor states_at(const at::Tensor& hidden, bool is_reverse, const std::vector<int64_t>& rows) {
  return hidden.chunk(2, 1)[is_reverse ? 1 : 0].index_select(
      0, kernels::to_device(rows, hidden.device()));
}

at::Tensor hidden_of(models::Model& model,
                     const data::Batch& batch,
                     const nn::ForwardContext& context) {
  return model.hidden(batching::input_to_device(batch, context.layout.positions.device()), context);
}

/// Both directions of a sequence.
struct BidirectionalRecord : TokenRecord {
  double backward_loss = 0;

  static constexpr auto kFields =
      std::tuple_cat(TokenRecord::kFields, std::tuple(&BidirectionalRecord::backward_loss));
};

class BidirectionalLmEvaluation : public RecordEvaluation<BidirectionalRecord> {
 public:
  BidirectionalLmEvaluation() : RecordEvaluation("bidirectional_lm") {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    auto records = make_records(batch);
    const auto hidden = hidden_of(model, batch, context);
    for (const bool is_reverse : {false, true}) {
      const auto neighbours = neighbours_of(batch, is_reverse);
      const auto metrics =
          model.lm_metrics(states_at(hidden, is_reverse, neighbours.rows), neighbours.targets);
      std::size_t sequence = 0;
      for (std::size_t i = 0; i < neighbours.rows.size(); ++i) {
        while (neighbours.rows[i] >= batch.offsets[sequence + 1]) {
          ++sequence;
        }
        auto& record = records[sequence];
        record.loss += metrics.losses[i];
        record.backward_loss += is_reverse ? metrics.losses[i] : 0;
        record.targets += 1;
        record.right += metrics.predictions[i] == neighbours.targets[i] ? 1 : 0;
      }
    }
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    const auto sum = records().sum();
    auto metrics = token_results(sum);
    const double targets = static_cast<double>(sum.targets) / 2;
    if (targets > 0) {
      metrics["eval_forward_loss"] = (sum.loss - sum.backward_loss) / targets;
      metrics["eval_backward_loss"] = sum.backward_loss / targets;
    }
    return metrics;
  }
};

class BidirectionalLmObjective : public Objective {
 public:
  std::string_view name() const override { return "bidirectional_lm"; }
  models::Head head(const models::ModelOptions& /*model*/) const override {
    return models::Head::kBidirectionalLm;
  }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    return requires_text_head(name(), model, models::Head::kBidirectionalLm,
                              "bidirectional language modelling head");
  }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override {
    return {.reads_raw_text = true};
  }
  std::vector<std::string> terms() const override { return {"forward", "backward"}; }
  std::vector<int64_t> counts(const data::Batch& batch) const override {
    int64_t count = 0;
    for (int64_t b = 0; b < batch.sequences(); ++b) {
      const auto i = static_cast<std::size_t>(b);
      count += std::max<int64_t>(0, batch.offsets[i + 1] - batch.offsets[i] - 1);
    }
    return {count, count};
  }
  /// The loss is the mean of both directions.
  std::vector<double> weights(const data::Batch& batch) const override {
    const auto numbers = counts(batch);
    return {2.0 * static_cast<double>(numbers[0]), 2.0 * static_cast<double>(numbers[1])};
  }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    const auto hidden = hidden_of(model, batch, context);
    std::vector<at::Tensor> result;
    for (const bool is_reverse : {false, true}) {
      const auto neighbours = neighbours_of(batch, is_reverse);
      result.push_back(model.lm_loss(states_at(hidden, is_reverse, neighbours.rows),
                                     kernels::to_device(neighbours.targets, hidden.device()),
                                     context));
    }
    return result;
  }
  std::unique_ptr<Evaluation> evaluation() const override {
    return std::make_unique<BidirectionalLmEvaluation>();
  }
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override {
    return sample_input(model, length);
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return plain_datasets(inputs);
  }
};

}  // namespace

std::unique_ptr<Objective> make_bidirectional_lm() {
  return std::make_unique<BidirectionalLmObjective>();
}

std::unique_ptr<Objective> read_bidirectional_lm(config::Section& /*section*/) {
  return make_bidirectional_lm();
}

}  // namespace weft::objectives
