#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "batching/hidden_states.h"
#include "models/model.h"
#include "objectives/evaluation/record_evaluation.h"

namespace weft::objectives {

/// Contribution of a sequence to the metrics of its targets.
struct TokenRecord {
  int64_t item = 0;
  double loss = 0;  // sum over its targets
  int64_t targets = 0;
  int64_t right = 0;

  static constexpr auto kFields =
      std::tuple(&TokenRecord::loss, &TokenRecord::targets, &TokenRecord::right);
};

/// Adds the predictions for the batch's targets to the records of its sequences, which are derived
/// from TokenRecord.
template <class Record>
void add_targets(const models::TokenMetrics& metrics,
                 const data::Batch& batch,
                 std::vector<Record>& records) {
  visit_targets(batch, [&](std::size_t sequence, std::size_t target) {
    TokenRecord& record = records[sequence];
    record.loss += metrics.losses[target];
    record.targets += 1;
    record.right += metrics.predictions[target] == batch.targets[target] ? 1 : 0;
  });
}

/// Returns the hidden states of a batch's targets (M, D), M > 0, and their histories.
using TargetStates = nn::TokenStates (*)(models::Model& model,
                                         const data::Batch& batch,
                                         const nn::ForwardContext& context);

/// Predictions of the model for the batch's targets, from these states.
models::TokenMetrics token_predictions(models::Model& model,
                                       const data::Batch& batch,
                                       const nn::ForwardContext& context,
                                       TargetStates states = batching::target_states);

/// eval_loss, eval_perplexity and eval_accuracy of the sum of all records.
std::map<std::string, double> token_results(const TokenRecord& sum);

/// Loss, perplexity and accuracy over the batches' targets: eval_loss, eval_perplexity,
/// eval_accuracy. The loss is plain cross-entropy per token. `kind`: see RecordEvaluation.
std::unique_ptr<Evaluation> make_token_evaluation(std::string kind = "tokens",
                                                  TargetStates states = batching::target_states);

/// Sum of -log p over the batch's targets, from their hidden states (M, D); see Model::lm_loss.
at::Tensor token_loss(models::Model& model,
                      const nn::TokenStates& rows,
                      const data::Batch& batch,
                      const nn::ForwardContext& context,
                      double smoothing = 0);

}  // namespace weft::objectives
