// The part of Trainer that does one step: what memory has room for, and what is fit for the
// weights.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "train/step/diagnosis.h"
#include "train/step/out_of_memory.h"
#include "train/step/trainer.h"

namespace weft::train {

namespace {

std::string figures_of(const StepResult& result) {
  return text("loss ", result.loss, ", gradient norm ", result.norm);
}

std::string action_words(const OnBadStep action) {
  switch (action) {
    case OnBadStep::kSkip:
      return "skipped ";
    case OnBadStep::kRollBack:
      return "goes back: ";
    case OnBadStep::kStop:
      return "stops: ";
  }
  return "";
}

}  // namespace

std::unique_ptr<data::Loader> Trainer::make_loader() const {
  auto options = loader_options(config_);
  options.left_out = state_.rollbacks.left_out;
  if (const auto less = state_.micro_batch_tokens) {
    options.micro_batch_tokens =
        options.micro_batch_tokens > 0 ? std::min(options.micro_batch_tokens, *less) : *less;
  }
  return std::make_unique<data::Loader>(task_.data.train, options, state_.cursor);
}

bool Trainer::step() {
  using Steady = std::chrono::steady_clock;
  const auto begin = Steady::now();
  auto batches = loader_->next();
  if (!batches) {
    return false;
  }
  const double lr = rate_.at(state_.clock);
  compute(*batches);
  if (const auto trouble = trouble_of(*batches)) {
    refuse(*batches, *trouble);
  } else {
    apply(*batches, lr);
  }
  last_lr_ = lr;
  state_.clock = clock_after(*batches, result_);
  state_.cursor = batches->end;
  state_.updates = optimizer_->updates();
  state_.warmup_end = rate_.warmup_end();
  const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  window_seconds_ += seconds;
  window_tokens_ += result_.tokens;
  tokens_per_second_ = static_cast<double>(window_tokens_) / std::max(window_seconds_, 1e-9);
  return true;
}

Clock Trainer::clock_after(const data::StepBatches& batches, const StepResult& result) const {
  auto clock = state_.clock;
  ++clock.steps;
  clock.tokens += result.tokens;
  clock.epochs = static_cast<double>(batches.end.epoch);
  if (batches.end.position > 0) {
    clock.epochs += static_cast<double>(batches.end.position) /
                    static_cast<double>(task_.data.train->size(batches.end.epoch));
  }
  clock.minutes = minutes_now();
  return clock;
}

// The step's gradient, in smaller pieces where memory has no room for it.
void Trainer::compute(data::StepBatches& batches) {
  for (;;) {
    try {
      result_ = stepper_.compute(batches, state_.clock.steps);
      return;
    } catch (const OutOfMemory& shortage) {
      take_smaller_pieces(shortage);
    }
    batches = *loader_->next();
  }
}

void Trainer::take_smaller_pieces(const OutOfMemory& shortage) {
  const auto step = text("step ", state_.clock.steps + 1, ": ", shortage.what());
  if (shortage.sequences() < 2) {
    throw DoesNotFit(
        text("train: out of memory in ", step,
             "; one sequence cannot be cut. What lowers it: data.length",
             config_.train.checkpoint_activations == Checkpointing::kNone
                 ? ", train.checkpoint_activations: layers"
                 : "",
             ", train.precision: bf16, train.lora, a smaller model (weft inspect CONFIG tells what "
             "it takes). The weights hold nothing of this step"));
  }
  state_.micro_batch_tokens = std::max<int64_t>(1, shortage.tokens() / 2);
  log::warning(text("[train] out of memory in ", step,
                    "; the step is done again in pieces of at most ",
                    with_commas(*state_.micro_batch_tokens),
                    " tokens, and so is the rest of the run (train.micro_batch_tokens)"));
  loader_ = make_loader();
}

// Why the step must not reach the weights. A gradient that is not finite is computed a second time:
// what then is finite was spoilt by the machine, and what it should have been is now known.
std::optional<Trouble> Trainer::trouble_of(data::StepBatches& batches) {
  if (!result_.is_finite()) {
    const auto first = figures_of(result_);
    stepper_.drop();
    compute(batches);
    if (!result_.is_finite()) {
      return describe_not_finite(batches);
    }
    log::warning(text("[train] step ", state_.clock.steps + 1, ": ", first,
                      "; computed again it is ", figures_of(result_),
                      ", which is used: a fault of the machine that has passed"));
  }
  const auto spike =
      result_.has_targets ? spike_in(state_.recent, result_, config_.train.spike) : std::nullopt;
  if (!spike) {
    return std::nullopt;
  }
  stepper_.drop();
  return Trouble{.is_spike = true,
                 .what = text("step ", state_.clock.steps + 1, ": ", *spike, "; ",
                              texts_of(*task_.data.train, batches))};
}

Trouble Trainer::describe_not_finite(const data::StepBatches& batches) {
  const auto tensor = first_bad_tensor(arena_, stepper_.gradient(), task_.model->options());
  stepper_.drop();
  return {.what = text("step ", state_.clock.steps + 1, ": ", figures_of(result_),
                       tensor.empty() ? "" : ", first in the gradient of " + tensor, "; ",
                       where_it_broke(*task_.objective, *task_.model, *task_.data.train, batches,
                                      stepper_.pass_of(state_.clock.steps)))};
}

void Trainer::apply(const data::StepBatches& batches, double lr) {
  if (!result_.has_targets) {
    stepper_.drop();
    return;
  }
  if (!stepper_.update(result_, lr)) {
    refuse(batches,
           {.what = text("step ", state_.clock.steps + 1, ": ", figures_of(result_),
                         ", but at the rate ", lr, " the update carries weights beyond fp32; ",
                         texts_of(*task_.data.train, batches))});
    return;
  }
  state_.skipped_in_row = 0;
  if (average_) {
    average_->add(optimizer_->updates());
  }
  remember(state_.recent, result_, config_.train.spike);
  state_.window_loss += result_.loss;
  state_.window_tallies.resize(result_.tallies.size(), 0);
  std::transform(result_.tallies.begin(), result_.tallies.end(), state_.window_tallies.begin(),
                 state_.window_tallies.begin(), std::plus<>());
  ++state_.window_steps;
}

// A step that must not reach the weights.
void Trainer::refuse(const data::StepBatches& batches, const Trouble& trouble) {
  const auto& options = config_.train;
  const auto action = trouble.is_spike ? options.spike.action : options.nonfinite.action;
  const bool is_over =
      action == OnBadStep::kRollBack && state_.rollbacks.count >= options.rollback.most;
  log::warning(text("[train] ", is_over ? "" : action_words(action), trouble.what));
  constexpr auto kAfter =
      ". The weights hold nothing of it: go on from the last checkpoint, perhaps with a lower "
      "train.optimizer.lr";
  if (action == OnBadStep::kStop) {
    throw std::runtime_error(text("train: ", trouble.what, kAfter));
  }
  if (is_over) {
    throw std::runtime_error(
        text("train: after ", state_.rollbacks.count,
             " rollbacks (train.rollback.most) another one is needed: ", trouble.what, kAfter));
  }
  if (action == OnBadStep::kRollBack) {
    settle_save();
    throw RollBack(trouble.what,
                   {.rollbacks = state_.rollbacks,
                    .micro_batch_tokens = state_.micro_batch_tokens,
                    .minutes = minutes_now()},
                   state_.clock.steps, {.begin = batches.begin, .end = batches.end});
  }
  ++state_.skipped;
  ++state_.skipped_in_row;
  state_.spikes += trouble.is_spike ? 1 : 0;
  if (state_.skipped_in_row >= options.nonfinite.stop_after) {
    throw std::runtime_error(text("train: ", state_.skipped_in_row,
                                  " steps in a row were skipped; the last was ", trouble.what,
                                  kAfter));
  }
}

}  // namespace weft::train
