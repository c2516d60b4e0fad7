#include "objectives/evaluation/token_evaluation.h"

#include <cmath>
#include <utility>

#include "batching/hidden_states.h"
#include "kernels/to_device.h"
#include "metrics/metrics.h"

namespace weft::objectives {

namespace {

class TokenEvaluation : public RecordEvaluation<TokenRecord> {
 public:
  TokenEvaluation(std::string kind, TargetStates states)
      : RecordEvaluation(std::move(kind)), states_(states) {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    auto records = make_records(batch);
    add_targets(token_predictions(model, batch, context, states_), batch, records);
    add_records(std::move(records));
  }

  std::map<std::string, double> result() const override { return token_results(records().sum()); }

 private:
  TargetStates states_;
};

}  // namespace

models::TokenMetrics token_predictions(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::ForwardContext& context,
                                       TargetStates states) {
  return batch.targets.empty() ? models::TokenMetrics{}
                               : model.lm_metrics(states(model, batch, context), batch.targets);
}

std::map<std::string, double> token_results(const TokenRecord& sum) {
  const auto targets = static_cast<double>(sum.targets);
  const double loss = metrics::safe_divide(sum.loss, targets);
  return {{"eval_loss", loss},
          {"eval_perplexity", std::exp(loss)},
          {"eval_accuracy", metrics::safe_divide(static_cast<double>(sum.right), targets)}};
}

std::unique_ptr<Evaluation> make_token_evaluation(std::string kind, TargetStates states) {
  return std::make_unique<TokenEvaluation>(std::move(kind), states);
}

at::Tensor token_loss(models::Model& model,
                      const nn::TokenStates& rows,
                      const data::Batch& batch,
                      const nn::ForwardContext& context,
                      double smoothing) {
  if (batch.targets.empty()) {
    return batching::zero_loss(rows.states);
  }
  return model.lm_loss(rows, kernels::to_device(batch.targets, rows.states.device()), context,
                       smoothing);
}

}  // namespace weft::objectives
