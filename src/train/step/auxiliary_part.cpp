#include "train/step/auxiliary_part.h"

#include <map>
#include <string>
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

/// The shares of one name in all layers.
struct ShareSums {
  at::Tensor sum;      // (B)
  at::Tensor counts;   // (B)
  at::Tensor targets;  // (B)
  double weight = 1;
};

/// Adds the share to that of other layers.
void merge(ShareSums& all, const nn::AuxiliaryLoss& own) {
  all.sum = all.sum.defined() ? all.sum + own.sum : own.sum;
  all.counts = all.counts.defined() ? all.counts + own.share->counts : own.share->counts;
  all.targets = own.share->targets;
  all.weight = own.weight;
}

void add_share_loss(const std::string& name,
                    const ShareSums& share,
                    double sequences,
                    AuxiliaryPart& result) {
  const auto is_counted = share.counts.gt(0).to(share.sum.scalar_type());
  const auto shares = share.sum / share.counts.clamp_min(1);
  const auto deviation =
      kernels::deterministic_sum((shares - share.targets).abs() * is_counted) / sequences;
  add_share(result.loss, share.weight * deviation);
  result.logged.emplace_back(name + "_share",
                             kernels::deterministic_sum(shares.detach()) / sequences);
  result.logged.emplace_back(name + "_deviation", deviation.detach());
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
  std::map<std::string, ShareSums> shares;
  for (const auto& each : losses.all()) {
    if (each.share) {
      merge(shares[each.name], each);
      continue;
    }
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
  for (const auto& [name, share] : shares) {
    add_share_loss(name, share, totals.sequences, result);
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
