#include <algorithm>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/stack_keys.h"
#include "nn/block.h"
#include "nn/residual_scale.h"

namespace weft::models {

namespace {

using GateOptions = nn::ComputationGateOptions;

constexpr auto kGateKey = "gate";
constexpr auto kBudgetsKey = "budgets";
constexpr auto kBudgetKey = "budget";
constexpr int64_t kMostGateFeatures = 65536;
constexpr int64_t kMostGateSteps = int64_t{1} << 40;

void read_gate_keys(config::Section& section, GateOptions& gate) {
  section.read("hidden", gate.hidden,
               {.help = "Width of the hidden layer of a gate.",
                .unit = "features",
                .range = config::between(1, kMostGateFeatures)});
  section.read("noise", gate.noise,
               {.help = "Standard deviation of the noise that training adds to the logit of a "
                        "gate, so that the gate learns to be clearly open or closed.",
                .range = config::between(0, 1000)});
  section.read("warmup", gate.warmup,
               {.help = "Steps over which the noise grows from 0.",
                .unit = "steps",
                .range = config::between(0, static_cast<double>(kMostGateSteps))});
  section.read(
      "loss", gate.loss,
      {.help = "Weight of the budget loss: the mean over the texts of |share of open gates "
               "- budget|.",
       .range = config::between(0, 1e6)});
  section.read(kBudgetKey, gate.budget,
               {.help = "The budget outside training, one of `budgets`; null: the last one. "
                        "`--budget` replaces it.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
}

bool is_one_of(const std::vector<double>& budgets, double budget) {
  return std::ranges::find(budgets, budget) != budgets.end();
}

}  // namespace

void read_gate(config::Section& residual, LayerTypes& types) {
  auto section = residual.section(
      kGateKey,
      {.help = "Conditional computation (CCT, arXiv:2002.07106): a gate of each sub-layer "
               "decides which tokens it computes."});
  auto gate = types.gate.value_or(GateOptions{.budgets = {}});
  section.read(kBudgetsKey, gate.budgets,
               {.help = "Shares of the gates that are to be open. With several, each text of a "
                        "training step draws one, and `weft predict --budget` and other commands "
                        "choose one. []: no gates.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  const bool has_gates = !gate.budgets.empty();
  if (has_gates && (!types.gate || !is_one_of(gate.budgets, gate.budget))) {
    gate.budget = gate.budgets.back();
  }
  if (has_gates || section.is_documenting()) {
    read_gate_keys(section, gate);
  } else {
    for (const auto* key : {"hidden", "noise", "warmup", "loss", kBudgetKey}) {
      if (section.has(key)) {
        section.fail(key, str_cat("has no effect without ", kBudgetsKey));
      }
    }
  }
  for (auto budget = gate.budgets.begin(); budget != gate.budgets.end(); ++budget) {
    if (std::find(gate.budgets.begin(), budget, *budget) != budget) {
      section.fail(kBudgetsKey, str_cat("has ", *budget, " twice"));
    }
  }
  if (has_gates && !is_one_of(gate.budgets, gate.budget)) {
    section.fail(kBudgetKey, str_cat("found ", gate.budget, ", must be one of ", kBudgetsKey));
  }
  types.gate = has_gates ? std::optional(gate) : std::nullopt;
  section.reject_unread();
}

void check_gate(config::Section& model, const ModelOptions& options) {
  const auto& types = options.layer_types;
  if (!types.gate || model.is_documenting()) {
    return;
  }
  if (types.residual && !nn::keeps_input(types.residual->make)) {
    model.fail("residual.gate", str_cat("a closed gate needs residual connections, found type ",
                                        types.residual->type));
  }
  if (options.stochastic_depth.drop_path_rate > 0) {
    model.fail("drop_path_rate", "is not possible with residual.gate, which skips sub-layers, too");
  }
  if (types.sharing && !types.sharing->sublayers.empty()) {
    model.fail("residual.gate", "is not possible with sharing.sublayers: gates belong to a layer");
  }
  if (reads_layer_before(types)) {
    model.fail("residual.gate",
               "is not possible with attention that reads the scores of the layer before");
  }
}

void read_gate(const JsonFields& fields, LayerTypes& types) {
  if (!fields.has(kGateKey)) {
    return;
  }
  const JsonFields own(fields.at(kGateKey), str_cat(fields.place(), ": ", kGateKey));
  GateOptions gate;
  own.read_size("hidden", gate.hidden, kMostGateFeatures);
  own.read("noise", gate.noise, 0.0, 1e9);
  own.read("warmup", gate.warmup, int64_t{0}, kMostGateSteps);
  own.read("loss", gate.loss, 0.0, 1e9);
  if (own.has(kBudgetsKey)) {
    gate.budgets.clear();
    for (const auto& each : own.at(kBudgetsKey)) {
      if (!each.is_number() || each.get<double>() <= 0 || each.get<double>() > 1) {
        own.fail(kBudgetsKey, str_cat("found ", each.dump(), ", allowed are numbers in (0, 1]"));
      }
      gate.budgets.push_back(each.get<double>());
    }
  }
  own.read(kBudgetKey, gate.budget, 0.0, 2.0);
  if (!is_one_of(gate.budgets, gate.budget)) {
    own.fail(kBudgetKey, str_cat("found ", gate.budget, ", must be one of ", kBudgetsKey));
  }
  types.gate = gate;
}

void write_gate(formats::Json& json, const LayerTypes& types) {
  if (types.gate) {
    const auto& gate = *types.gate;
    json[kGateKey] = {{"hidden", gate.hidden},     {"noise", gate.noise},
                      {"warmup", gate.warmup},     {"loss", gate.loss},
                      {kBudgetsKey, gate.budgets}, {kBudgetKey, gate.budget}};
  }
}

}  // namespace weft::models
