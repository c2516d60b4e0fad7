#include "train/step/train_step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/stop.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "train/distributed/shard_collector.h"
#include "train/step/auxiliary_part.h"
#include "train/step/out_of_memory.h"

namespace weft::train {
namespace {
// Squares of gradients up to this norm fit into the optimizer's fp32 moments.
constexpr double kLargestNorm = 1e18;

// Up to these values no number of updates can overflow fp32: the lr bounds the change of a weight,
// and a decay that only shrinks weights never makes them grow.
constexpr double kSafeLr = 1e3;
constexpr double kSafeDecay = 2;
}  // namespace

bool StepResult::is_finite() const {
  return std::isfinite(loss) && std::isfinite(norm) && norm <= kLargestNorm;
}

TrainStep::TrainStep(const objectives::Objective& objective,
                     models::Model& model,
                     FlatParameters& flat_parameters,
                     Optimizer& optimizer,
                     const TrainStepOptions& options)
    : objective_(objective),
      model_(model),
      flat_parameters_(flat_parameters),
      optimizer_(optimizer),
      options_(options),
      gradients_(flat_parameters, *options.group),
      weights_(flat_parameters, *options.group),
      gradient_(flat_parameters.gradient()) {
  if (options.group->size() > 1) {
    blocks_.emplace(model, flat_parameters, gradients_, weights_);
    flat_parameters.set_on_refresh([this] { weights_.publish(); });
  }
  if (!flat_parameters.layout().options().owners.empty()) {
    experts_.emplace(model, *options.group);
  }
  if (options.measures_time) {
    clock_.emplace([this] { end_part(); });
  }
}

StepResult TrainStep::compute(const data::StepBatches& batches, int64_t step, bool is_local) {
  is_local_ = is_local;
  timings_ = {};
  elapsed_ms();
  options_.group->set_step(step + 1);
  StepResult result;
  const auto totals = step_totals(objective_, batches,
                                  is_local_ ? std::optional(options_.group->rank()) : std::nullopt);
  result.targets = totals.targets;
  carried_state_.discard();  // of a step that is computed again
  auto context = context_of(step);
  const auto shares = shares_of(batches.ranks, *options_.group, shards_gradients());
  uses_sum_ = shards_gradients()
                  ? shares.size() > 1
                  : batches.micro_batches.size() > 1 && flat_parameters_.compute().defined();
  auto mine = compute_shares(shares, batches, totals, context);
  reduce_gradients();
  measure_norm();
  mine.norm = std::sqrt(squared_norm_.value);
  const auto outcome = exchange_outcomes(*options_.group, mine);
  throw_if_incomplete(outcome);
  for (const auto& micro_batch : outcome.micro_batches) {
    result.loss += micro_batch.loss;
    result.max_loss = std::max(result.max_loss, micro_batch.own_loss);
    add_sums(micro_batch, result.auxiliary_losses, result.running_sums);
  }
  update_draw_baseline(result.auxiliary_losses, carried_state_);
  result.norm = outcome.norm;
  for (const auto& share : shares) {
    result.own_tokens += share.is_own ? batches.micro_batches[share.index].total_tokens() : 0;
  }
  result.tokens = context.first_row + context.first_source_row;
  result.sequences = context.first_sequence;
  return result;
}

void TrainStep::measure_norm() {
  auto squares = kernels::sums_of_squares(gradient_);
  const auto sums =
      gather_blocks(flat_parameters_.layout(), *options_.group, std::move(squares.sums));
  squared_norm_ = {.value = std::accumulate(sums.begin(), sums.end(), 0.0),
                   .nonzero_blocks = std::move(squares.nonzero_blocks)};
  timings_.optimizer += elapsed_ms();
}

MicroBatchLosses TrainStep::numbers_of(int64_t index,
                                       double part,
                                       const MicroBatchLoss& micro_batch) {
  MicroBatchLosses numbers{.index = index};
  if (micro_batch.loss.defined()) {
    numbers.loss = part * micro_batch.loss.item<double>();
  }
  for (const auto& [sum, weight] : micro_batch.terms) {
    numbers.own_loss += sum.item<double>() / weight;
  }
  for (const auto& [name, loss] : micro_batch.auxiliary_losses) {
    numbers.auxiliary_losses[name] += part * loss.item<double>();
  }
  if (micro_batch.running_sums.defined()) {
    const auto sums = micro_batch.running_sums.cpu().contiguous();
    const auto* const sum = sums.const_data_ptr<double>();
    numbers.running_sums.assign(sum, sum + sums.numel());
  }
  return numbers;
}

/// Advances the context past all micro-batches, so that random numbers do not depend on ranks.
StepOutcome TrainStep::compute_shares(const std::vector<Share>& shares,
                                      const data::StepBatches& batches,
                                      const StepTotals& totals,
                                      nn::ForwardContext& context) {
  std::vector<nn::ForwardContext> contexts;
  for (const auto& batch : batches.micro_batches) {
    contexts.push_back(context);
    batching::advance_offsets(batch, context);
    if (options_.group->size() > 1 && !batch.streams.empty()) {
      throw UserError("train: text that continues from step to step needs one process");
    }
  }
  StepOutcome outcome;
  std::vector<MicroBatchLoss> losses;
  std::vector<int64_t> indices;
  for (const auto& share : shares) {  // a resumed process computes a stopped step again
    outcome.is_stopped = !shards_gradients() && !is_local_ && !indices.empty() && stop_requested();
    if (outcome.is_stopped) {
      break;
    }
    const auto before = losses.size();
    compute_micro_batch(share, &share == &shares.back(), batches.micro_batches[share.index], totals,
                        contexts[share.index], outcome, losses);
    if (losses.size() > before) {
      indices.push_back(static_cast<int64_t>(share.index));
    }
    if (!outcome.is_complete() && !shards_gradients()) {
      break;
    }
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    outcome.micro_batches.push_back(numbers_of(indices[i], totals.part, losses[i]));
  }
  return outcome;
}

void TrainStep::begin_exchange(bool is_last) {
  const bool overlaps = options_.overlaps && !is_local_ && is_last && !uses_sum_;
  if (shards_gradients() || overlaps) {
    gradients_.begin(flat_parameters_.gradient());
  }
  if (blocks_) {
    blocks_->begin_forward(shards_gradients() || overlaps);
  }
}

/// Forward and backward pass of a micro-batch. Appends its losses if it is this rank's own.
void TrainStep::compute_micro_batch(const Share& share,
                                    bool is_last,
                                    const data::Batch& batch,
                                    const StepTotals& totals,
                                    const nn::ForwardContext& context,
                                    StepOutcome& outcome,
                                    std::vector<MicroBatchLoss>& losses) {
  begin_exchange(is_last);
  try {
    if (outcome.is_complete() && (share.is_own || flat_parameters_.shards_weights())) {
      auto micro_batch = backward(share, batch, totals, context);
      if (share.is_own) {
        losses.push_back(std::move(micro_batch));
      }
    }
    if (!shards_gradients() && uses_sum_) {
      add_to_sum(flat_parameters_.gradient());
    }
  } catch (const std::exception& error) {
    const auto shortage = memory_shortage_in(error);
    zero_grad();
    // Others wait for this rank's part of the weights.
    if (!shortage || flat_parameters_.shards_weights()) {
      throw;
    }
    outcome.shortage = {.requested_bytes = shortage->requested_bytes,
                        .tokens = batch.total_tokens(),
                        .sequences = batch.sequences()};
  }
  if (shards_gradients()) {
    gradient_ = gradients_.finish();
    if (uses_sum_) {
      add_to_sum(gradient_);
    }
  }
  if (blocks_) {
    blocks_->end();
  }
}

void TrainStep::throw_if_incomplete(const StepOutcome& outcome) {
  if (outcome.is_complete()) {
    return;
  }
  zero_grad();
  if (const auto& shortage = outcome.shortage) {
    throw MicroBatchOutOfMemory({shortage->requested_bytes}, shortage->tokens, shortage->sequences);
  }
  throw Stopped("stopped while computing a step");
}

/// Sums the gradients of all ranks, unless that was done after each micro-batch.
void TrainStep::reduce_gradients() {
  if (uses_sum_) {
    allocate_sum();  // a rank without micro-batches has none yet
  }
  const auto own = shards_gradients() ? gradient_ : flat_parameters_.gradient();
  const auto gradient = uses_sum_ ? sum_ : own;
  if (shards_gradients() || is_local_) {
    gradient_ = gradient;
    return;
  }
  if (!gradients_.has_begun()) {
    gradients_.begin(gradient);
  }
  gradient_ = gradients_.finish();
}

TrainStep::MicroBatchLoss TrainStep::backward(const Share& share,
                                              const data::Batch& batch,
                                              const StepTotals& totals,
                                              nn::ForwardContext context) {
  nn::AuxiliaryLosses auxiliary_losses;
  batching::set_sequences(batch, options_.device, context);
  context.auxiliary_losses = &auxiliary_losses;
  context.carried_state = &carried_state_;
  context.streams = batch.streams;
  const auto sums = objective_.losses(model_, batch, context);
  MicroBatchLoss result{
      .loss = {},
      .terms = {},
      .running_sums = sums.size() > totals.terms.size() ? sums.back() : at::Tensor(),
      .auxiliary_losses = {}};
  auto& loss = result.loss;
  for (std::size_t term = 0; term < totals.terms.size(); ++term) {
    if (totals.terms[term] > 0 && sums[term].requires_grad()) {
      const auto part = sums[term] / totals.terms[term];
      loss = loss.defined() ? loss + part : part;
      result.terms.emplace_back(sums[term].detach(), totals.weights[share.index][term]);
    }
  }
  auto all = add_auxiliary_losses(loss, auxiliary_losses, carried_state_, totals);
  loss = std::move(all.loss);
  result.auxiliary_losses = std::move(all.logged);
  timings_.forward += elapsed_ms();
  add_operation_times(timings_.forward_by_operation);
  if (loss.defined()) {
    if (blocks_) {
      blocks_->begin_backward();
    }
    // One that another rank counts runs for what the ranks do together, without a gradient.
    (share.is_own ? loss : loss * 0).backward();
    loss = loss.detach();
  } else if (flat_parameters_.shards_weights() && totals.targets > 0) {  // of any rank
    throw std::logic_error("train: other ranks wait for the backward pass of a micro-batch");
  }
  timings_.backward += elapsed_ms();
  add_operation_times(timings_.backward_by_operation);
  return result;
}

void TrainStep::allocate_sum() {
  if (sum_.defined()) {
    return;
  }
  sum_ = shards_gradients() ? flat_parameters_.zeros_like_trained()
                            : at::zeros({flat_parameters_.trained_size()},
                                        flat_parameters_.gradient().options().dtype(at::kFloat));
}

// Accumulates gradients in fp32, and zeroes `gradient`. Between steps the sum is zero.
void TrainStep::add_to_sum(const at::Tensor& gradient) {
  allocate_sum();
  kernels::accumulate_and_zero(sum_, gradient);
  timings_.optimizer += elapsed_ms();
}

nn::ForwardContext TrainStep::context_of(int64_t step) const {
  nn::ForwardContext context;
  context.is_training = true;
  context.recomputes_layers = options_.recomputes_layers;
  context.seed = options_.seed;
  context.step = static_cast<uint64_t>(step);
  return context;
}

// An interrupted step may have accumulated part of its gradient.
void TrainStep::zero_grad() {
  const at::NoGradGuard no_grad;
  if (!shards_gradients()) {  // else they are freed when they are sent
    flat_parameters_.gradient().zero_();
  }
  if (sum_.defined()) {
    sum_.zero_();
  }
}

bool TrainStep::update(double lr) {
  elapsed_ms();
  // As in torch's clip_grad_norm_.
  const double scale =
      options_.clip_norm
          ? std::min(1.0, *options_.clip_norm / (std::sqrt(squared_norm_.value) + 1e-6))
          : 1.0;
  const bool is_safe =
      std::all_of(flat_parameters_.segments().begin(), flat_parameters_.segments().end(),
                  [&](const auto& segment) {
                    const double rate = lr * segment.settings.lr_scale;
                    return rate <= kSafeLr && rate * optimizer_.weight_decay(segment) <= kSafeDecay;
                  });
  bool is_done = true;
  if (is_safe) {
    optimizer_.update(gradient_, lr, scale, squared_norm_.nonzero_blocks);
  } else {
    is_done = try_update(lr, scale);
  }
  if (is_done) {
    weights_.publish();
    carried_state_.commit();
  }
  timings_.optimizer += elapsed_ms();
  return is_done;
}

// At an extreme learning rate an update may overflow fp32 although its gradient is finite.
bool TrainStep::try_update(double lr, double scale) {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept = {
      {flat_parameters_.trained_master(), flat_parameters_.trained_master().clone()}};
  for (const auto& [name, moment] : optimizer_.moments()) {
    kept.emplace_back(moment, moment.clone());
  }
  const int64_t updates = optimizer_.updates();
  optimizer_.update(gradient_, lr, scale, squared_norm_.nonzero_blocks);
  const bool are_finite = std::all_of(kept.begin(), kept.end(), [](const auto& item) {
    return std::isfinite(kernels::squared_norm(item.first).value);
  });
  const bool is_done = !options_.group->any(!are_finite);
  if (!is_done) {
    for (const auto& [tensor, before] : kept) {
      tensor.copy_(before);
    }
    flat_parameters_.refresh_compute_copy();
    optimizer_.resume(updates);
  }
  return is_done;
}

void TrainStep::discard_gradients() {
  const at::NoGradGuard no_grad;
  gradient_.zero_();
  carried_state_.discard();
}

void TrainStep::add_operation_times(kernels::OperationProfiler::Milliseconds& times) {
  if (clock_) {
    const auto taken = clock_->take();
    std::transform(times.begin(), times.end(), taken.begin(), times.begin(), std::plus<>());
  }
}

double TrainStep::elapsed_ms() {
  end_part();
  const double now =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  const double elapsed = now - last_time_ms_;
  last_time_ms_ = now;
  return elapsed;
}

}  // namespace weft::train
