#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/component.h"

namespace weft::nn {

/// What the outputs of a classifier mean.
enum class OutputKind { kClasses, kLabels, kNumbers };  // one class, several labels, regression

/// What a rule remembers of one sequence from layer to layer.
struct ExitMemory {
  std::vector<float> outputs;  // of the layer before; empty: none
  int64_t agreements = 0;      // layers in a row that agreed with the one before
};

/// Decides after which layer a sequence has its answer.
class ExitRule {
 public:
  virtual ~ExitRule() = default;
  /// `outputs`: of the classifier after this layer, logits or numbers. `memory` belongs to the
  /// sequence and is updated.
  virtual bool exits(const std::vector<float>& outputs, ExitMemory& memory) const = 0;
};

struct ExitRuleOptions {
  OutputKind outputs = OutputKind::kClasses;
};

/// The makers throw UserError for outputs that the rule cannot judge.
using ExitRuleDefinition = ComponentDefinition<ExitRule, ExitRuleOptions>;
using ExitRuleChoice = ComponentChoice<ExitRule, ExitRuleOptions>;

/// The values of `model.early_exit.type`.
const Registry<ExitRuleDefinition>& exit_rules();

/// Adds a rule; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_exit_rule(const ExitRuleDefinition& definition);

}  // namespace weft::nn
