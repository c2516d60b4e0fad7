#pragma once

#include "data/batch.h"
#include "models/model.h"
#include "nn/chosen_rows.h"

namespace weft::batching {

/// Last hidden states (N, D) of the batch's tokens. Where it has sources, the model's encoder reads
/// them first and its decoder sees what that gives; where it has prefixes, a decoder sees these
/// both ways. `pass.layout` says on which device the model is.
at::Tensor hidden_states(models::Model& model, const data::Batch& batch, const nn::Pass& pass);

/// The rows that the loss looks at.
nn::ChosenRows target_rows(const data::Batch& batch, const nn::Pass& pass);

/// The hidden states of these, (M, D), for less. Where there are none, they hang on the graph.
at::Tensor target_states(models::Model& model, const data::Batch& batch, const nn::Pass& pass);

/// The head's outputs for the batch's labelled tokens: (M, C).
at::Tensor tag_logits(models::Model& model,
                      const models::TextInput& input,
                      const data::Batch& batch,
                      const nn::Pass& pass);

/// Counts the batch among those that came before in the step.
void go_past(const data::Batch& batch, nn::Pass& pass);

}  // namespace weft::batching
