#include "train/step/evaluate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/run_batches.h"
#include "data/data_loader.h"
#include "kernels/parallel.h"
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

constexpr int64_t kBatchesPerThread = 8;  // that are read before they are evaluated together

/// Evaluates batches on one rank.
class BatchEvaluator {
 public:
  /// `is_ordered`: a batch may continue texts of the one before it. `items`: of all batches.
  BatchEvaluator(models::Model& model,
                 const EvaluationSettings& settings,
                 bool is_ordered,
                 double items)
      : model_(model), settings_(settings), is_ordered_(is_ordered), items_(items) {}

  /// Batches that `add` should be given together.
  int64_t batches() const {
    const bool are_concurrent =
        settings_.inference.device.is_cpu() && !is_ordered_ && !settings_.is_collective;
    return are_concurrent ? kBatchesPerThread * kernels::parallel_threads() : 1;
  }

  /// Adds all batches, unless a stop is requested and no other rank needs them to be computed.
  void add(const std::vector<data::Batch>& batches, objectives::Evaluation& evaluation) {
    std::vector<int64_t> tokens;
    tokens.reserve(batches.size());
    for (const auto& batch : batches) {
      tokens.push_back(batch.total_tokens());
    }
    batching::run_concurrently(tokens, settings_.inference.device, [&](std::size_t i) {
      nn::CarriedState none;
      add(batches[i], is_ordered_ ? carried_state_ : none, evaluation);
    });
  }

  bool is_stopped() const { return is_stopped_; }

 private:
  void add(const data::Batch& batch,
           nn::CarriedState& carried_state,
           objectives::Evaluation& evaluation) {
    if (stop_requested()) {
      is_stopped_ = true;
    }
    if (is_stopped_ && !settings_.is_collective) {
      return;
    }
    auto context = batching::context_of(batch, settings_.inference.device);
    context.streams = batch.streams;
    context.carried_state = &carried_state;
    evaluation.add(model_, batch, context);
    carried_state.commit();
    const auto done = done_ += batch.sequences();
    log::set_progress("evaluating", static_cast<double>(done) / items_);
  }

  models::Model& model_;
  const EvaluationSettings& settings_;
  bool is_ordered_;
  double items_;
  nn::CarriedState carried_state_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<bool> is_stopped_ = false;
};

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
  auto& group = *settings.group;
  const bool continues = dataset->continues();
  // How many layers an early exit leaves out depends on the batch.
  const bool is_undivided =
      continues || (settings.is_collective && model.options().early_exit.has_value());
  const int parts = is_undivided ? 1 : group.size();
  BatchEvaluator evaluator(model, settings, continues,
                           static_cast<double>(dataset->size(0)) / parts);
  const auto most = evaluator.batches();
  data::DataLoader loader(std::move(dataset),
                          {.shuffles = false,
                           .batch_tokens = continues ? 0 : evaluation_batch_tokens(settings),
                           .batch_sequences = continues ? 1 : 0,
                           .workers = settings.workers,
                           .prefetch = std::max<int64_t>(data::DataLoaderOptions{}.prefetch, most),
                           .epochs = 1});
  auto evaluation = objective.evaluation();
  std::vector<data::Batch> own;
  std::vector<data::Batch> of_another_rank;
  int64_t index = 0;
  log::set_progress("evaluating", 0);
  while (auto step = loader.next()) {
    if (is_undivided || index++ % parts == group.rank()) {
      std::move(step->micro_batches.begin(), step->micro_batches.end(), std::back_inserter(own));
    } else {
      of_another_rank = std::move(step->micro_batches);
    }
    if (std::ssize(own) >= most) {
      evaluator.add(std::exchange(own, {}), *evaluation);
    }
    if (evaluator.is_stopped() && !settings.is_collective) {
      break;
    }
  }
  evaluator.add(own, *evaluation);
  log::set_progress_line("");
  // Ranks that fetch weights from each other run the same number of passes.
  const auto rest = index % parts;
  if (settings.is_collective && rest > 0 && group.rank() >= rest) {
    evaluator.add(of_another_rank, *objective.evaluation());
  }
  group.barrier("the evaluation", ProcessGroup::MayBeLate::kAll);
  if (group.any(evaluator.is_stopped())) {
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
