#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "data/data_options.h"
#include "data/tokenizer_options.h"
#include "models/config/options.h"
#include "objectives/options.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// A whole config file, read and checked.
struct RunConfig {
  std::optional<std::string> init_from;  // as written: a checkpoint, run or Hugging Face directory
  models::ModelOptions
      model;  // with init_from: what its config.json says, and what `model:` overrides
  data::TokenizerOptions
      tokenizer;  // with init_from: only `file` counts, which must be the same tokenizer
  data::DataOptions data;
  objectives::ObjectiveOptions objective;
  TrainOptions train;
  RunOptions run;
  std::vector<config::Axis> grid;  // keys and the values that they take, for several runs
  std::string resolved;  // every key with its final value, as YAML that reads back to the same
};

/// Reads every section and checks what goes together. Loads nothing but the config.json of
/// init_from. Throws config::Error.
RunConfig read_run_config(const config::Document& document);

/// Declares every key on `root`, which must be a describing section: for the reference page,
/// `config explain` and the schema.
void describe_run_config(config::Section root);

}  // namespace weft::train
