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

/// The batch with the targets of one direction: the token after each but the last of a sequence,
/// or, `is_reverse`, that before each but the first.
data::Batch with_targets(data::Batch batch, bool is_reverse) {
  batch.target_rows.clear();
  batch.targets.clear();
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    for (auto row = batch.offsets[b]; row + 1 < batch.offsets[b + 1]; ++row) {
      batch.target_rows.push_back(is_reverse ? row + 1 : row);
      batch.targets.push_back(batch.ids[static_cast<std::size_t>(is_reverse ? row : row + 1)]);
    }
  }
  return batch;
}

/// The states (M, D / 2) of a direction at the target rows of its batch.
at::Tensor target_states(const at::Tensor& hidden, bool is_reverse, const data::Batch& batch) {
  return hidden.chunk(2, 1)[is_reverse ? 1 : 0].index_select(
      0, kernels::to_device(batch.target_rows, hidden.device()));
}

at::Tensor hidden_of(models::Model& model,
                     const data::Batch& batch,
                     const nn::ForwardContext& context) {
  return model.hidden(batching::input_to_device(batch, context.layout.positions.device()), context);
}

/// Both directions of a sequence.
struct BidirectionalRecord : TokenRecord {
  double forward_loss = 0;

  static constexpr auto kFields =
      std::tuple_cat(TokenRecord::kFields, std::tuple(&BidirectionalRecord::forward_loss));
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
      const auto directed = with_targets(batch, is_reverse);
      add_targets(model.lm_metrics(target_states(hidden, is_reverse, directed), directed.targets),
                  directed, records);
      if (!is_reverse) {
        for (auto& record : records) {
          record.forward_loss = record.loss;
        }
      }
    }
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override {
    const auto sum = records().sum();
    auto metrics = token_results(sum);
    const double targets = static_cast<double>(sum.targets) / 2;
    if (targets > 0) {
      metrics["eval_forward_loss"] = sum.forward_loss / targets;
      metrics["eval_backward_loss"] = (sum.loss - sum.forward_loss) / targets;
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
      const auto directed = with_targets(batch, is_reverse);
      result.push_back(
          token_loss(model, target_states(hidden, is_reverse, directed), directed, context));
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
