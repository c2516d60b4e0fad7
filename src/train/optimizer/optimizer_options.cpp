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
  optimizer_registry().read_type(section, options.type, "How gradients change the weights.");
}

// The keys of the type, and those that all types share.
void read_update_keys(config::Section& section, OptimizerOptions& options) {
  section.read("lr", options.lr,
               {.help = "Learning rate after the warm-up.", .range = config::above(0)});
  optimizer_registry().read_own_keys(
      section, options.type, options.own,
      [](const OptimizerDefinition& definition, config::Section& keys, std::any& own) {
        if (definition.read) {
          definition.read(keys, own);
        }
      });
  section.read("weight_decay", options.weight_decay,
               {.help = "Pull of the weights towards zero; added to the gradient in sgd, decoupled "
                        "from it in the others.",
                .range = config::at_least(0)});
  section.read_choice(
      "decay_on", options.decay_on, kDecayOn,
      {.help = "Which parameters decay: those of two or more dimensions, embeddings too, or all."});
  section.read("layer_decay", options.layer_decay,
               {.help = "Factor of the learning rate from each layer to the one below: with d and "
                        "L layers the head has lr, the top layer lr * d, the embeddings "
                        "lr * d^(L + 1).",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("head_lr", options.head_lr,
               {.help = "Learning rate of what stands on the layers, pooler and head, after the "
                        "warm-up; null: lr.",
                .range = config::above(0)});
  section.read("scale_parameter", options.scale_parameter,
               {.help = "Whether each parameter learns at lr times the root of the mean square of "
                        "its numbers, at least 0.001 of it: Adafactor's way (arXiv:1804.04235), by "
                        "which T5 is trained, with an lr of about 0.01."});
}

OptimizerOptions read_group(config::Section section, const OptimizerOptions& outer) {
  OptimizerOptions group = outer;
  group.groups.clear();
  section.read("parameters", group.parameters,
               {.help = "Which parameters: a part or a parameter by name, a range of layers or a "
                        "pattern, as an item of train.freeze.",
                .is_required = true});
  read_optimizer_type(section, group);
  if (group.type != outer.type) {
    group = {.type = group.type, .parameters = group.parameters};
    if (!section.has("lr")) {
      section.fail("lr", str_cat("missing, must be given: that of train.optimizer is for ",
                                 outer.type, ", this group is for ", group.type));
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

OptimizerOptions read_optimizer_options(config::Section section) {
  OptimizerOptions options;
  read_optimizer_type(section, options);
  read_update_keys(section, options);
  for (auto& group : section.sections(
           "groups", {.help = "Parameters with an optimizer or settings of their own; the first "
                              "item that matches a parameter decides, the rest have the settings "
                              "above. Keys left out are those above where the type is the same, "
                              "else the defaults of the type."})) {
    options.groups.push_back(read_group(std::move(group), options));
  }
  section.reject_unread();
  return options;
}

double optimizer_state_bytes(const OptimizerOptions& options) {
  constexpr double kBytesPerFp32 = 4;
  return kBytesPerFp32 * static_cast<double>(optimizer_state_names(options).size());
}

}  // namespace weft::train
