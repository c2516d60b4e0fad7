#pragma once

#include <any>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"

namespace weft::train {

/// Parameters that weight decay applies to: those with at least two dimensions, or all.
enum class DecayOn { kMatrices, kAll };

/// `train.optimizer:`, or an item of its `groups:`.
struct OptimizerOptions {
  std::string type = "adamw";  // a name of the optimizer registry
  std::any own = {};           // options struct of the type; empty: its defaults
  double lr = 1e-4;
  double weight_decay = 0.01;
  DecayOn decay_on = DecayOn::kMatrices;
  double layer_decay = 1;                        // lr factor from each layer to the one below
  std::optional<double> head_lr = std::nullopt;  // of pooler and head; nullopt: lr
  bool scale_parameter = false;                  // scales the lr by the RMS of the weights
  std::string parameters = {};                   // of a group: which, as an item of train.freeze
  std::vector<OptimizerOptions> groups = {};     // without groups of their own
};

/// Reads `train.optimizer:`; keys that are not given keep their value of `options`. Whether the
/// groups' patterns match is checked where the model is known. Throws config::Error.
OptimizerOptions read_optimizer_options(config::Section section, OptimizerOptions options = {});

}  // namespace weft::train
