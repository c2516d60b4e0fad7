#pragma once

#include "data/batch.h"
#include "models/model.h"
#include "nn/row_selection.h"

namespace weft::batching {

/// Last hidden states (N, D) of the batch's tokens. If it has sources, the encoder runs on them
/// first and the decoder attends to its states; if it has prefixes, a decoder's attention is
/// bidirectional within them. `context.layout` determines the model's device.
at::Tensor hidden_states(models::Model& model,
                         const data::Batch& batch,
                         const nn::ForwardContext& context);

/// Rows that contribute to the loss.
nn::RowSelection target_rows(const data::Batch& batch, const nn::ForwardContext& context);

/// Model::histories of the target rows only.
at::Tensor target_histories(models::Model& model,
                            const data::Batch& batch,
                            const nn::ForwardContext& context);

/// Hidden states of the target rows only, (M, D), in the autograd graph even if M = 0, and their
/// histories.
nn::TokenStates target_states(models::Model& model,
                              const data::Batch& batch,
                              const nn::ForwardContext& context);

/// Head outputs for the batch's labelled tokens: (M, C).
at::Tensor tag_logits(models::Model& model,
                      const models::TextInput& input,
                      const data::Batch& batch,
                      const nn::ForwardContext& context);

/// A zero connected to the graph of x: the loss of a batch without targets.
at::Tensor zero_loss(const at::Tensor& x);

/// Advances the step-level offsets past this batch.
void advance_offsets(const data::Batch& batch, nn::ForwardContext& context);

}  // namespace weft::batching
