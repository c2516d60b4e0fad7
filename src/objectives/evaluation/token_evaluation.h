#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// Loss, perplexity and accuracy over the batches' targets: eval_loss, eval_perplexity,
/// eval_accuracy. The loss is plain cross-entropy per token.
std::unique_ptr<Evaluation> make_token_evaluation();

/// Sum of -log p over the batch's targets, from their hidden states (M, D). `smoothing`: the
/// fraction of each target's probability spread over the whole vocabulary, as in torch's
/// cross_entropy and transformers' LabelSmoother (fairseq spreads it over the other tokens).
at::Tensor token_loss(models::Model& model,
                      const at::Tensor& states,
                      const data::Batch& batch,
                      double smoothing = 0);

}  // namespace weft::objectives
