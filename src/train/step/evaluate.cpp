#include "train/step/evaluate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "data/data_loader.h"
#include "nn/carried_state.h"

namespace weft::train {

namespace {

// On the CPU, the rounding of a row in a matrix product depends on the number of rows, so the last
// bits of a metric would depend on the budget. Larger budgets are therefore split into the same
// groups, which are large enough for full speed.
int64_t evaluation_batch_tokens(const EvaluationSettings& settings) {
  constexpr int64_t kGroup = 512;
  return settings.inference.device.is_cpu() ? std::min(settings.batch_tokens, kGroup)
                                            : settings.batch_tokens;
}

void merge_ranks(ProcessGroup& group, objectives::Evaluation& evaluation) {
  if (group.size() == 1) {
    return;
  }
  const auto parts = group.gather(evaluation.serialize());
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != group.rank()) {
      evaluation.merge(parts[static_cast<std::size_t>(rank)]);
    }
  }
}

}  // namespace

std::unique_ptr<objectives::Evaluation> run_evaluation(const objectives::Objective& objective,
                                                       models::Model& model,
                                                       std::shared_ptr<const data::Dataset> dataset,
                                                       const EvaluationSettings& settings) {
  const at::NoGradGuard no_grad;
  const bool continues = dataset->continues();
  const auto items = static_cast<double>(dataset->size(0));
  data::DataLoader loader(std::move(dataset),
                          {.shuffles = false,
                           .batch_tokens = continues ? 0 : evaluation_batch_tokens(settings),
                           .batch_sequences = continues ? 1 : 0,
                           .workers = settings.workers,
                           .epochs = 1});
  // How many layers an early exit leaves out depends on the batch.
  const bool is_undivided =
      continues || (settings.is_collective && model.options().early_exit.has_value());
  nn::CarriedState carried_state;
  const auto add = [&](const data::StepBatches& step, objectives::Evaluation& evaluation) {
    for (const auto& batch : step.micro_batches) {
      auto context = batching::context_of(batch, settings.inference.device);
      context.streams = batch.streams;
      context.carried_state = &carried_state;
      evaluation.add(model, batch, context);
      carried_state.commit();
    }
  };
  auto evaluation = objective.evaluation();
  auto& group = *settings.group;
  bool is_stopped = false;
  int64_t index = 0;
  std::optional<data::StepBatches> of_another_rank;
  while (auto step = loader.next()) {
    log::set_progress("evaluating", static_cast<double>(step->begin.position) / items);
    if (is_undivided || index++ % group.size() == group.rank()) {
      add(*step, *evaluation);
    } else {
      of_another_rank = std::move(step);
    }
    is_stopped = stop_requested();
    if (is_stopped && !settings.is_collective) {
      break;
    }
  }
  log::set_progress_line("");
  // Ranks that fetch weights from each other run the same number of passes.
  const auto rest = index % group.size();
  if (settings.is_collective && rest > 0 && group.rank() >= rest) {
    add(of_another_rank.value(), *objective.evaluation());
  }
  group.barrier("the evaluation", ProcessGroup::MayBeLate::kAll);
  if (group.any(is_stopped)) {
    throw Stopped("stopped while evaluating");
  }
  if (!is_undivided) {
    merge_ranks(group, *evaluation);
  }
  return evaluation;
}

std::string metric_text(double value) { return shortest_repr(std::round(value * 1e5) / 1e5); }

Metrics evaluate(const objectives::Objective& objective,
                 models::Model& model,
                 std::shared_ptr<const data::Dataset> dataset,
                 const EvaluationSettings& settings) {
  return run_evaluation(objective, model, std::move(dataset), settings)->result();
}

}  // namespace weft::train
