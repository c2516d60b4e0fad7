#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/duration.h"

namespace weft::objectives {

/// What a run starts from.
struct TrainingStart {
  bool has_weights = false;              // init_from
  bool has_adapters = false;             // train.lora
  int64_t dim = 768;                     // width of the model
  std::optional<int64_t> examples = {};  // at least 1; nullopt: unknown or many
};

/// Defaults of `train:` that differ from the general ones; nullopt: as in general.
struct TrainingDefaults {
  std::string task = {};  // whose defaults they are, in the log and the reference; empty: general
  std::optional<int64_t> batch_sequences = {};  // instead of batch_tokens
  std::optional<double> lr = {};
  std::optional<config::RelativeDuration> warmup = {};
  std::optional<config::Duration> duration = {};
};

/// Defaults of objectives with labels: those of fine-tuning if the run starts from weights, else
/// the general ones.
TrainingDefaults labelled_training_defaults(const TrainingStart& start);

}  // namespace weft::objectives
