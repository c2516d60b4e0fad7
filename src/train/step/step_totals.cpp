#include "train/step/step_totals.h"

#include <cstddef>

namespace weft::train {

StepTotals step_totals(const objectives::Objective& objective,
                       const data::StepBatches& batches,
                       const std::optional<int>& rank) {
  StepTotals totals{.terms = std::vector<double>(objective.terms().size(), 0), .weights = {}};
  int64_t counted_targets = 0;
  for (std::size_t i = 0; i < batches.micro_batches.size(); ++i) {
    const auto& batch = batches.micro_batches[i];
    const auto counts = objective.counts(batch);
    totals.weights.push_back(objective.weights(batch));
    for (const auto count : counts) {
      totals.targets += count;
    }
    if (rank && batches.ranks[i] != *rank) {
      continue;
    }
    for (std::size_t term = 0; term < totals.terms.size(); ++term) {
      totals.terms[term] += totals.weights.back()[term];
      counted_targets += counts[term];
    }
    totals.tokens += static_cast<double>(batch.total_tokens());
    totals.sequences += static_cast<double>(batch.sequences());
  }
  if (totals.targets > 0) {
    totals.part = static_cast<double>(counted_targets) / static_cast<double>(totals.targets);
  }
  return totals;
}

}  // namespace weft::train
