#include <cmath>

#include "base/error.h"
#include "base/string_util.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

namespace {

constexpr double kFewUpdates = 100;

/// Steps of a duration; of tokens, as if all steps were full; nullopt if that is unknown.
std::optional<double> steps_in(const config::Duration& duration,
                               const TrainOptions& options,
                               const std::function<int64_t()>& steps_per_epoch) {
  switch (duration.unit) {
    case config::DurationUnit::kSteps:
      return duration.amount;
    case config::DurationUnit::kEpochs:
      return duration.amount * static_cast<double>(steps_per_epoch());
    case config::DurationUnit::kTokens:
      return options.batch_tokens
                 ? std::optional(duration.amount / static_cast<double>(*options.batch_tokens))
                 : std::nullopt;
    case config::DurationUnit::kSeconds:
    case config::DurationUnit::kMinutes:
    case config::DurationUnit::kHours:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string batch_of(const TrainOptions& options) {
  return options.batch_sequences ? str_cat("train.batch_sequences (", *options.batch_sequences, ")")
                                 : str_cat("train.batch_tokens (", *options.batch_tokens, ")");
}

}  // namespace

std::optional<std::string> check_run_length(const TrainOptions& options,
                                            const std::function<int64_t()>& steps_per_epoch) {
  const auto& warmup = options.schedule.warmup;
  const auto& duration = options.duration;
  const auto steps = steps_in(duration, options, steps_per_epoch);
  if (!steps) {
    return std::nullopt;
  }
  const auto updates = static_cast<int64_t>(std::ceil(*steps));
  const auto warmup_steps = steps_in(warmup, options, steps_per_epoch);
  const bool is_exact = duration.unit != config::DurationUnit::kTokens;  // steps may be less full
  if (warmup.unit != duration.unit && is_exact && warmup_steps && *warmup_steps > *steps) {
    throw UserError(str_cat("train.schedule.warmup: the warm-up of ", config::to_string(warmup),
                            " (", std::ceil(*warmup_steps), " updates) is longer than the run of ",
                            config::to_string(duration), " (", updates,
                            " updates), must be at most the duration, or a fraction such as 10%"));
  }
  if (*steps >= kFewUpdates) {
    return std::nullopt;
  }
  return str_cat("only ", is_exact ? "" : "about ", updates, " updates in ",
                 config::to_string(duration), ", models usually need more than ", kFewUpdates,
                 ": decrease ", batch_of(options), " or increase train.duration");
}

}  // namespace weft::train
