#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// What make_task_data gives for objectives on running text other than masked tokens (the next
/// token, noises), and on parallel lines read as one text.
struct RunningTextSettings {
  int64_t length = 0;
  uint64_t seed = 1;
};
TaskData running_text_data(const ObjectiveOptions& objective,
                           const data::DataOptions& options,
                           const models::ModelOptions& model,
                           const std::shared_ptr<const data::Tokenizer>& tokenizer,
                           const RunningTextSettings& settings,
                           const data::ProgressVisitor& progress);

/// Whether a decoder without an encoder learns what comes behind prefixes, which it sees both ways.
bool has_decoder_prefix(const ObjectiveOptions& objective, const models::ModelOptions& model);

/// The options with which the token stores of running text are opened.
data::DataOptions store_options(const ObjectiveOptions& objective,
                                const data::DataOptions& options,
                                const models::ModelOptions& model);

}  // namespace weft::objectives
