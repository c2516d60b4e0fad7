#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// Loss, perplexity and accuracy of the tokens that the batches' targets ask for: eval_loss,
/// eval_perplexity, eval_accuracy. The loss is plain cross entropy, by token.
std::unique_ptr<Evaluation> make_token_evaluation();

/// Sum of -log p over the batch's targets, from their hidden states (M, D). `smoothing`: the share
/// of each target's probability that is spread over the whole vocabulary, as torch's cross_entropy
/// and transformers' LabelSmoother have it (fairseq spreads it over the others).
at::Tensor token_loss(models::Model& model,
                      const at::Tensor& states,
                      const data::Batch& batch,
                      double smoothing = 0);

}  // namespace weft::objectives
