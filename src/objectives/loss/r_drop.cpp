#include "objectives/loss/r_drop.h"

#include <ATen/Functions.h>

#include "base/random.h"
#include "objectives/evaluation/eval_prediction.h"

namespace weft::objectives {

nn::ForwardContext second_dropout_context(const nn::ForwardContext& context) {
  constexpr uint64_t kSecond = 2;
  auto second = context;
  second.seed = hash_combine(context.seed, kSecond);
  second.auxiliary_losses = nullptr;  // each sequence counts once
  return second;
}

// The two KL terms add up to the sum of (p - q) (log p - log q).
at::Tensor symmetric_kl(const at::Tensor& first, const at::Tensor& second) {
  const auto p = at::log_softmax(first.to(at::kFloat), 1);
  const auto q = at::log_softmax(second.to(at::kFloat), 1);
  return ((p.exp() - q.exp()) * (p - q)).sum(1) / 2;
}

// log p - log (1 - p) is the logit, so the difference of the logits is a factor.
at::Tensor bernoulli_kl(const at::Tensor& first, const at::Tensor& second) {
  const auto p = first.to(at::kFloat);
  const auto q = second.to(at::kFloat);
  return (at::sigmoid(p) - at::sigmoid(q)) * (p - q) / 2;
}

at::Tensor r_drop_loss(
    models::Model& model,
    const data::Batch& batch,
    const nn::ForwardContext& context,
    double alpha,
    const std::function<at::Tensor(const at::Tensor&)>& loss,
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& divergence) {
  const auto first = sequence_outputs(model, batch, context);
  const auto own = loss(first);
  if (alpha == 0 || !context.is_training) {
    return own;
  }
  const auto second = sequence_outputs(model, batch, second_dropout_context(context));
  return (own + loss(second)) / 2 + alpha * divergence(first, second);
}

}  // namespace weft::objectives
