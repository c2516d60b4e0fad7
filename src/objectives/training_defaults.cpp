#include "objectives/training_defaults.h"

namespace weft::objectives {

namespace {

constexpr int64_t kNarrow =
    512;  // models below this width need a higher rate (docs/fine_tuning.md)
constexpr double kLr = 5e-5;
constexpr double kNarrowLr = 1e-4;
constexpr double kAdapterLr = 3e-4;  // adapters start at zero (arXiv:2106.09685, table 9)

/// Small data need more epochs for enough updates (docs/fine_tuning.md).
double epochs_of(int64_t examples) {
  constexpr int64_t kFew = 10'000;
  constexpr int64_t kVeryFew = 2'000;
  if (examples < kVeryFew) {
    return 10;
  }
  return examples < kFew ? 5 : 3;
}

}  // namespace

TrainingDefaults labelled_training_defaults(const TrainingStart& start) {
  if (!start.has_weights) {
    return {};
  }
  TrainingDefaults defaults{.task = "fine-tuning",
                            .batch_sequences = 32,
                            .lr = kLr,
                            .warmup = config::RelativeDuration{.fraction = 0.1}};
  if (start.has_adapters) {
    defaults.task = "fine-tuning with LoRA";
    defaults.lr = kAdapterLr;
  } else if (start.dim < kNarrow) {
    defaults.lr = kNarrowLr;
  }
  if (start.examples) {
    defaults.duration = config::Duration{.amount = epochs_of(*start.examples),
                                         .unit = config::DurationUnit::kEpochs};
  }
  return defaults;
}

}  // namespace weft::objectives
