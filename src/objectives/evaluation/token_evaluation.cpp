#include "objectives/evaluation/token_evaluation.h"

#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "batching/hidden_states.h"
#include "batching/token_metrics.h"
#include "kernels/cross_entropy.h"
#include "kernels/label_smoothing.h"
#include "kernels/to_device.h"
#include "metrics/metrics.h"

namespace weft::objectives {

namespace {

/// Per-sequence contribution to the metrics.
struct TokenRecord {
  int64_t item = 0;
  double loss = 0;  // sum over its targets
  int64_t targets = 0;
  int64_t right = 0;
};

class TokenEvaluation : public Evaluation {
 public:
  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override {
    std::vector<TokenRecord> records(batch.items.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].item = batch.items[i];
    }
    if (!batch.targets.empty()) {
      const auto metrics = batching::lm_token_metrics(
          model, batching::target_states(model, batch, context), batch.targets);
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
    records_.insert(records_.end(), records.begin(), records.end());
  }

  std::map<std::string, double> result() const override {
    auto records = records_;  // the order of summation must not depend on batching
    std::stable_sort(records.begin(), records.end(),
                     [](const auto& a, const auto& b) { return a.item < b.item; });
    TokenRecord sum;
    for (const auto& record : records) {
      sum.loss += record.loss;
      sum.targets += record.targets;
      sum.right += record.right;
    }
    const auto targets = static_cast<double>(sum.targets);
    const double loss = metrics::safe_divide(sum.loss, targets);
    return {{"eval_loss", loss},
            {"eval_perplexity", std::exp(loss)},
            {"eval_accuracy", metrics::safe_divide(static_cast<double>(sum.right), targets)}};
  }

 private:
  std::vector<TokenRecord> records_;
};

}  // namespace

std::unique_ptr<Evaluation> make_token_evaluation() { return std::make_unique<TokenEvaluation>(); }

at::Tensor token_loss(models::Model& model,
                      const at::Tensor& states,
                      const data::Batch& batch,
                      double smoothing) {
  if (batch.targets.empty()) {
    return batching::zero_loss(states);
  }
  const auto features = model.token_features(states);  // (M, E)
  const auto targets = kernels::to_device(batch.targets, states.device());
  const auto loss =
      kernels::linear_cross_entropy(features, model.output_weight(), model.output_bias(), targets);
  return smoothing > 0
             ? loss + smoothing * kernels::label_smoothing_term(features, model.output_weight(),
                                                                model.output_bias(), targets)
             : loss;
}

}  // namespace weft::objectives
