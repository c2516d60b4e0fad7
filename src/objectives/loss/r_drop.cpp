#include "objectives/loss/r_drop.h"

#include <ATen/Functions.h>

#include "base/random.h"
#include "batching/device_batch.h"
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

namespace {

std::vector<models::WeightedLogits> training_outputs(models::Model& model,
                                                     const data::Batch& batch,
                                                     const nn::ForwardContext& context) {
  return context.is_training
             ? model.training_logits(
                   batching::input_to_device(batch, context.layout.positions.device()), context)
             : std::vector<models::WeightedLogits>{{sequence_outputs(model, batch, context)}};
}

void add_weighted(at::Tensor& total, double weight, const at::Tensor& value) {
  const auto weighted = weight == 1 ? value : weight * value;
  total = total.defined() ? total + weighted : weighted;
}

}  // namespace

at::Tensor r_drop_loss(
    models::Model& model,
    const data::Batch& batch,
    const nn::ForwardContext& context,
    double alpha,
    const std::function<at::Tensor(const at::Tensor&)>& loss,
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& divergence) {
  const auto first = training_outputs(model, batch, context);
  at::Tensor total;
  if (alpha == 0 || !context.is_training) {
    for (const auto& classifier : first) {
      add_weighted(total, classifier.weight, loss(classifier.logits));
    }
    return total;
  }
  const auto second = training_outputs(model, batch, second_dropout_context(context));
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto& logits = first[i].logits;
    const auto& again = second[i].logits;
    add_weighted(total, first[i].weight,
                 (loss(logits) + loss(again)) / 2 + alpha * divergence(logits, again));
  }
  return total;
}

}  // namespace weft::objectives
