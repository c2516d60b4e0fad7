#include "train/step/evaluate.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/stop.h"
#include "batching/stage.h"
#include "data/loader.h"

namespace weft::train {

namespace {

// A matrix product of the CPU rounds a row otherwise when it stands among other numbers of rows:
// the last bits of a figure would depend on the budget. So every budget from here on is cut into
// the same groups, which are large enough for full speed.
int64_t tokens_at_once(const EvaluationSettings& settings) {
  constexpr int64_t kGroup = 512;
  return settings.inference.device.is_cpu() ? std::min(settings.batch_tokens, kGroup)
                                            : settings.batch_tokens;
}

}  // namespace

std::unique_ptr<objectives::Evaluation> evaluation_of(const objectives::Objective& objective,
                                                      models::Model& model,
                                                      std::shared_ptr<const data::Dataset> dataset,
                                                      const EvaluationSettings& settings) {
  const at::NoGradGuard no_grad;
  data::Loader loader(std::move(dataset), {.shuffles = false,
                                           .batch_tokens = tokens_at_once(settings),
                                           .workers = settings.workers,
                                           .epochs = 1});
  auto evaluation = objective.evaluation();
  while (const auto step = loader.next()) {
    for (const auto& batch : step->micro) {
      evaluation->add(model, batch, batching::stage(batch, settings.inference.device).pass);
    }
    leave_if_stopped("evaluating");
  }
  return evaluation;
}

Figures evaluate(const objectives::Objective& objective,
                 models::Model& model,
                 std::shared_ptr<const data::Dataset> dataset,
                 const EvaluationSettings& settings) {
  return evaluation_of(objective, model, std::move(dataset), settings)->result();
}

bool is_better_low(const std::string& figure) {
  for (const std::string_view word : {"loss", "perplexity", "mse", "mae", "error", "brier"}) {
    if (figure.find(word) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace weft::train
