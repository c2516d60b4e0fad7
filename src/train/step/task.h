#pragma once

#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "data/tokenizer.h"
#include "models/adapters/lora.h"
#include "models/model.h"
#include "objectives/objective.h"
#include "train/run/run_config.h"

namespace weft::train {

/// What a run trains, and on what.
struct Task {
  std::unique_ptr<objectives::Objective> objective;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  objectives::TaskData data;
  std::shared_ptr<models::Model> model;  // on its device, in fp32
  std::optional<models::Lora> lora;      // the adapters that it carries
};

/// Gets tokenizer, data and model of a run ready, saying in the log what was found. `checkpoint`:
/// the one to go on from, whose tokenizer and weights are taken. Throws UserError, Stopped.
Task prepare_task(const RunConfig& config,
                  const std::optional<std::string>& checkpoint,
                  const c10::Device& device);

/// Tokenizer and data alone.
std::shared_ptr<const data::Tokenizer> prepare_tokenizer(
    const RunConfig& config, const std::optional<std::string>& checkpoint);

/// Makes room for the tokenizer's ids in a new model.
void take_vocabulary(const data::Tokenizer& tokenizer, models::ModelOptions& options);

/// Throws UserError at `place`, a directory, for a tokenizer whose ids are not the model's.
void check_vocabulary(const std::string& place,
                      const data::Tokenizer& tokenizer,
                      const models::ModelOptions& options);

/// The config's model as the tokenizer and the data complete it: vocabulary, ids, labels.
models::ModelOptions complete_options(const RunConfig& config,
                                      const objectives::Objective& objective,
                                      const data::Tokenizer& tokenizer);

/// Shows the steps of a preparation on the progress line.
data::ProgressVisitor show_progress();

}  // namespace weft::train
