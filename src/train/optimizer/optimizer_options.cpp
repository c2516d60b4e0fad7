#include "train/optimizer/optimizer_options.h"

#include <utility>

#include "base/string_util.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/optimizer_registry.h"

namespace weft::train {

namespace {

const config::Choices<DecayOn> kDecayOn = {{"matrices", DecayOn::kMatrices},
                                           {"all", DecayOn::kAll}};

void read_optimizer_type(config::Section& section, OptimizerOptions& options) {
  optimizer_registry().read_type(section, options.type, "Optimization algorithm.");
}

// The keys of the type, and those that all types share.
void read_update_keys(config::Section& section, OptimizerOptions& options) {
  section.read(
      "lr", options.lr,
      {.help = "Peak learning rate, reached after the warm-up.", .range = config::above(0)});
  optimizer_registry().read_own_keys(
      section, options.type, options.own,
      [](const OptimizerDefinition& definition, config::Section& keys, std::any& own) {
        if (definition.read) {
          definition.read(keys, own);
        }
      });
  section.read("weight_decay", options.weight_decay,
               {.help = "Weight decay: added to the gradient (L2 regularization) for sgd; "
                        "decoupled (AdamW) for the other optimizers.",
                .range = config::at_least(0)});
  section.read_choice("decay_on", options.decay_on, kDecayOn,
                      {.help = "Parameters with weight decay. matrices: tensors with two or more "
                               "dimensions, including embeddings. all: all parameters."});
  section.read("layer_decay", options.layer_decay,
               {.help = "Layer-wise learning rate decay (LLRD), a factor per layer from top to "
                        "bottom: with factor d and L layers the head uses lr, the top layer lr * "
                        "d, and the embeddings lr * d^(L + 1). 1: off.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("head_lr", options.head_lr,
               {.help = "Learning rate of the pooler and head after the warm-up. null: same as lr.",
                .range = config::above(0)});
  section.read("scale_parameter", options.scale_parameter,
               {.help = "Scales the learning rate of each parameter by the root mean square of its "
                        "values (at least 0.001), as in Adafactor (arXiv:1804.04235). T5 is "
                        "trained in this way with an lr of about 0.01."});
}

OptimizerOptions read_group(config::Section section, const OptimizerOptions& outer) {
  OptimizerOptions group = outer;
  group.groups.clear();
  section.read("parameters", group.parameters,
               {.help = "Parameters of the group: one module or parameter name, range of layers or "
                        "pattern, as in train.freeze.",
                .is_required = true});
  read_optimizer_type(section, group);
  if (group.type != outer.type) {
    group = {.type = group.type, .parameters = group.parameters};
    if (!section.has("lr")) {
      section.report(
          "lr",
          str_cat("missing, required because the group has another type than train.optimizer: ",
                  outer.type, ", the group ", group.type));
    }
  }
  if (section.has("lr")) {
    group.head_lr.reset();  // the group's own rate is that of the head too
  }
  read_update_keys(section, group);
  section.reject_unread();
  return group;
}

}  // namespace

OptimizerOptions read_optimizer_options(config::Section section, OptimizerOptions options) {
  read_optimizer_type(section, options);
  read_update_keys(section, options);
  for (auto& group : section.sections(
           "groups",
           {.help = "Parameter groups with their own optimizer or settings. A parameter belongs to "
                    "the first group that matches it; parameters without a group use the settings "
                    "above. Omitted keys default to the settings above if the type is the same, "
                    "else to the defaults of the type."})) {
    options.groups.push_back(read_group(std::move(group), options));
  }
  section.reject_unread();
  return options;
}

}  // namespace weft::train
