#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "models/model.h"
#include "nn/pass.h"

namespace weft::objectives {

/// R-Drop (arXiv:2106.14448): a second pass with other dropout, whose outputs shall be those of the
/// first. A target's loss is the mean of both passes' losses + alpha * the mean of both
/// divergences.

/// The same pass with draws of its own; as pure a function of seed and step as the first.
nn::Pass second_draw(const nn::Pass& pass);

/// (KL(p, q) + KL(q, p)) / 2 of each row's two distributions; logits (B, C) -> (B).
at::Tensor class_divergence(const at::Tensor& first, const at::Tensor& second);
/// The same of each yes or no by itself; logits (B, C) -> (B, C).
at::Tensor flag_divergence(const at::Tensor& first, const at::Tensor& second);

/// The batch's loss as a sum. `loss`: of one pass's outputs; `divergence`: of both passes' outputs.
/// Without a weight `alpha`, or out of training, of one pass alone.
at::Tensor r_drop_loss(
    models::Model& model,
    const data::Batch& batch,
    const nn::Pass& pass,
    double alpha,
    const std::function<at::Tensor(const at::Tensor&)>& loss,
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& divergence);

}  // namespace weft::objectives
