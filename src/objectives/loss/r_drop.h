#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "models/model.h"
#include "nn/forward_context.h"

namespace weft::objectives {

/// R-Drop (arXiv:2106.14448): a second pass with different dropout, whose outputs should match the
/// first. A target's loss is the mean of both passes' losses + alpha * the mean of both
/// divergences.

/// The same context with different dropout masks, also a pure function of seed and step.
nn::ForwardContext second_dropout_context(const nn::ForwardContext& context);

/// (KL(p, q) + KL(q, p)) / 2 for each row's two distributions; logits (B, C) -> (B).
at::Tensor symmetric_kl(const at::Tensor& first, const at::Tensor& second);
/// The same for each binary decision; logits (B, C) -> (B, C).
at::Tensor bernoulli_kl(const at::Tensor& first, const at::Tensor& second);

/// Loss of the batch, as a sum. `loss`: of one pass's outputs; `divergence`: between both passes'
/// outputs. If alpha is 0, or outside training, only one pass is run.
at::Tensor r_drop_loss(
    models::Model& model,
    const data::Batch& batch,
    const nn::ForwardContext& context,
    double alpha,
    const std::function<at::Tensor(const at::Tensor&)>& loss,
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& divergence);

}  // namespace weft::objectives
