#include "train/step/auxiliary_part.h"

#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "kernels/sum.h"

namespace weft::train {

namespace {

constexpr int64_t kNoStream = -1;
constexpr auto kBaseline = "draw_baseline";
constexpr double kBaselineDecay = 0.9;  // arXiv:1502.03044, equation 12
constexpr auto kSequenceLoss = "sequence_loss";

void add_share(at::Tensor& loss, const at::Tensor& share) {
  if (share.requires_grad()) {
    loss = loss.defined() ? loss + share : share;
  }
}

/// The factor of the log-probabilities of each sequence, (B).
at::Tensor advantages(const at::Tensor& losses, const nn::CarriedState& state) {
  if (!losses.defined()) {
    throw UserError(
        "model.attention: hard attention learns from the loss of each text, which this objective "
        "does not have; objective.type classify and regress have it");
  }
  const auto baseline = state.get(kNoStream, kBaseline);
  return baseline.defined() ? losses - baseline : at::zeros_like(losses);
}

}  // namespace

AuxiliaryPart add_auxiliary_losses(at::Tensor loss,
                                   const nn::AuxiliaryLosses& losses,
                                   const nn::CarriedState& state,
                                   const StepTotals& totals) {
  AuxiliaryPart result{.loss = std::move(loss), .logged = {}};
  at::Tensor advantage;
  if (losses.has_draws()) {
    advantage = advantages(losses.sequence_losses(), state);
    result.logged.emplace_back(kSequenceLoss, losses.sequence_losses().sum() / totals.sequences);
  }
  for (const auto& each : losses.all()) {
    if (each.is_log_probability) {
      const auto estimate = kernels::deterministic_sum(advantage * each.sum);
      add_share(result.loss, (estimate - estimate.detach()) / totals.terms.front());
      continue;
    }
    const double total = each.unit == nn::LossUnit::kTokens ? totals.tokens : totals.sequences;
    const auto share = each.sum / total;
    add_share(result.loss, each.weight * share);
    result.logged.emplace_back(each.name, share.detach());
  }
  return result;
}

void update_draw_baseline(const std::map<std::string, double>& logged, nn::CarriedState& state) {
  const auto found = logged.find(kSequenceLoss);
  if (found == logged.end()) {
    return;
  }
  const auto before = state.get(kNoStream, kBaseline);
  const auto mean = before.defined() ? kBaselineDecay * before.item<double>() +
                                           (1 - kBaselineDecay) * found->second
                                     : found->second;
  const auto options = before.defined() ? before.options() : at::TensorOptions(at::kFloat);
  state.set(kNoStream, kBaseline, at::full({}, mean, options));
}

}  // namespace weft::train
