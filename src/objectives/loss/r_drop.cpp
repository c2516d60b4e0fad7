#include "objectives/loss/r_drop.h"

#include <ATen/Functions.h>

#include "base/random.h"
#include "objectives/evaluation/seen.h"

namespace weft::objectives {

nn::Pass second_draw(const nn::Pass& pass) {
  constexpr uint64_t kSecond = 2;
  auto second = pass;
  second.seed = mix(pass.seed, kSecond);
  return second;
}

// Both sums together are sum of (p - q) (log p - log q).
at::Tensor class_divergence(const at::Tensor& first, const at::Tensor& second) {
  const auto p = at::log_softmax(first.to(at::kFloat), 1);
  const auto q = at::log_softmax(second.to(at::kFloat), 1);
  return ((p.exp() - q.exp()) * (p - q)).sum(1) / 2;
}

// The logarithms of yes and of no together differ by what the logits differ.
at::Tensor flag_divergence(const at::Tensor& first, const at::Tensor& second) {
  const auto p = first.to(at::kFloat);
  const auto q = second.to(at::kFloat);
  return (at::sigmoid(p) - at::sigmoid(q)) * (p - q) / 2;
}

at::Tensor r_drop_loss(
    models::Model& model,
    const data::Batch& batch,
    const nn::Pass& pass,
    double alpha,
    const std::function<at::Tensor(const at::Tensor&)>& loss,
    const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& divergence) {
  const auto first = sequence_outputs(model, batch, pass);
  const auto own = loss(first);
  if (alpha == 0 || !pass.is_training) {
    return own;
  }
  const auto second = sequence_outputs(model, batch, second_draw(pass));
  return (own + loss(second)) / 2 + alpha * divergence(first, second);
}

}  // namespace weft::objectives
